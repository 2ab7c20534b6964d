package execute

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A task goes back when it comes while another one waits for objects or runs for long. The call of an actor waits.
func TestFrames_TaskComesWhileAnotherOneRuns_GoesBackWhenThatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, x := range []struct {
			role       string
			lent, late bool
			back       bool
		}{
			{wire.RoleLease, false, false, false},
			{wire.RoleLease, true, false, true},
			{wire.RoleLease, false, true, true},
			{wire.RoleActor, true, false, false},
			{wire.RoleActor, false, true, false},
		} {
			w, s := newWorker()
			c, _ := s.joins(w, "c", x.role)
			says(t, c, templateOf(1, nil), taskOf(1, 1))
			begins(t, w)
			w.lent = x.lent
			if x.late {
				time.Sleep(GiveBackAfter + 1)
			}
			says(t, c, taskOf(2, 1))
			if back := slices.Equal(s.takes(), []string{"c: given back: 2"}); back != x.back || w.Waiting() == 0 != x.back {
				t.Errorf("%+v: the task that comes goes back: %v, %d wait", x, back, w.Waiting())
			}
		}
	})
}

// A call that makes lost results again does not wait behind one that waits for its arguments: that may be what needs them.
func TestParseTask_RunsAgain_IsNotedWithWhatItsCallerHas(t *testing.T) {
	w, s := newWorker()
	c, _ := s.joins(w, "c", wire.RoleLease)
	says(t, c, templateOf(1, func(x *frame.Template) { x.Returns = 3 }), generatorOf(2, frame.Flow{Mode: frame.FlowStream}))
	for i, x := range []struct {
		what  string
		call  []byte
		again bool
		had   int
	}{
		{"a call that runs for the first time", taskOf(1, 1), false, 0},
		{"a call whose caller has two results", resumed(2, 1, nil, []int{0, 2}), true, 2},
		{"a call whose caller has nothing", resumed(3, 1, nil, []int{}), true, 0},
		{"a generator that runs for the first time", resumed(4, 2, new(frame.Resume), nil), false, 0},
		{"a generator that goes on", resumed(5, 2, &frame.Resume{Have: 3}, nil), false, 0},
		{"a generator that makes an item again", resumed(6, 2, &frame.Resume{Have: 3, Lost: []uint64{1}}, nil), true, 0},
	} {
		says(t, c, x.call)
		if w.Waiting() != i+1 {
			t.Fatalf("%s: %d calls wait, want %d", x.what, w.Waiting(), i+1)
		}
		if k := w.main.queue[i]; k.again != x.again || len(k.had) != x.had || k.Yields() != (i > 2) {
			t.Errorf("%s: it runs again: %v, and its caller has %v", x.what, k.again, k.had)
		}
	}
	if had := w.main.queue[1].had; !had[0] || had[1] || !had[2] {
		t.Errorf("the caller has the results %v, want 0 and 2", had)
	}
}

func TestFrames_Malformed_AreRefused(t *testing.T) {
	for what, frames := range map[string][][]byte{
		"a call of an unknown template": {taskOf(1, 1)},
		"a frame of a worker's":         {frame.AppendBlocked(nil, true)},
		"a template that was forgotten": {templateOf(1, nil), frame.AppendForget(nil, 1), taskOf(1, 1)},
	} {
		w, s := newWorker()
		c, _ := s.joins(w, "c", wire.RoleLease)
		says(t, c, frames[:len(frames)-1]...)
		if _, err := c.Frames(frames[len(frames)-1]); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// An actor that may restart notes what each caller's connection has begun. The place of a connection that has ended goes to the next one.
func TestGone_CallerOfAnActorThatMayRestart_GivesItsPlaceBack(t *testing.T) {
	fd, r, err := progress.CreateActorPage()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	defer r.Close()
	page, err := progress.OpenActorPage(fd)
	if err != nil {
		t.Fatal(err)
	}
	w, s := newWorker()
	w.page = page
	var first progress.Slot
	for i := range 3 {
		c, _ := s.joins(w, "c", wire.RoleActor)
		says(t, c, templateOf(1, nil), taskOf(5, 1))
		answers(w, begins(t, w), 0)
		if seq, known := r.Read().Of(progress.Caller{Owner: c.Owner}); seq != 5 || !known {
			t.Errorf("caller %d: call %d has begun, known: %v", i, seq, known)
		}
		if i == 0 {
			first = c.slot
		} else if c.slot != first {
			t.Errorf("caller %d has another place than the first one, which has left", i)
		}
		if c.Gone(nil); c.slot != (progress.Slot{}) {
			t.Errorf("caller %d has left and has a place", i)
		}
		if seq, _ := r.Read().Of(progress.Caller{Owner: c.Owner}); seq != 0 {
			t.Errorf("caller %d has left, and the page names its call %d", i, seq)
		}
	}
	if c, _ := s.joins(w, "lease", wire.RoleLease); c.slot != (progress.Slot{}) {
		t.Error("the connection of a lease has a place among an actor's callers")
	}
}

// Callers leave in any order, and each of those that stay is told what concerns it.
func TestGone_AnyOrder_TheOthersStay(t *testing.T) {
	w, s := newWorker()
	var all []*Caller
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		c, _ := s.joins(w, name, wire.RoleLease)
		all = append(all, c)
	}
	for _, i := range []int{1, 4, 0} {
		all[i].Gone(nil)
	}
	s.takes()
	w.Block()
	got := s.takes()
	slices.Sort(got)
	if want := []string{"c: blocked", "d: blocked", "daemon: blocked true"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// Only callers of an actor that are there hear of a concurrency group that has its fill.
func TestTellHeld_LeasesAndCallersThatHaveLeft_AreNotTold(t *testing.T) {
	full := &Lane{name: "io", held: true}
	for role, told := range map[string]bool{wire.RoleActor: true, wire.RoleLease: false} {
		w, s := newWorker()
		c, p := s.joins(w, "c", role)
		if c.tellHeld(full); p.Unsent() > 0 != told {
			t.Errorf("a caller with the role %q is told: %v", role, !told)
		}
		p.out, p.closed = nil, true
		if c.tellHeld(full); p.Unsent() != 0 {
			t.Errorf("%d bytes wait for a caller that has left", p.Unsent())
		}
	}
}

// The class that came from the cluster's state goes when the program has loaded it.
func TestUnload_FetchedClass_IsLetGo(t *testing.T) {
	fid := [16]byte([]byte("sixteen bytes id"))
	w, s := newWorker()
	w.Fetched(fid, []byte("class")) // nobody knows it
	if len(w.fns) != 0 || w.Load(fid) != nil {
		t.Error("a class that nobody has named is kept")
	}
	c, _ := s.joins(w, "c", wire.RoleLease)
	says(t, c, templateOf(1, func(x *frame.Template) { x.Blob = nil }))
	if w.Load(fid) != nil {
		t.Error("code that was not sent is there")
	}
	w.Fetched(fid, []byte("class"))
	if got := w.Load(fid); string(got) != "class" {
		t.Errorf("the class is %q", got)
	}
	if w.Unload(fid); w.Load(fid) != nil || len(w.fns) != 1 {
		t.Error("the class stays when the program has loaded it, or its caller is forgotten")
	}
	c.Gone(nil)
	if len(w.fns) != 0 {
		t.Error("a function stays when its caller has left")
	}
}
