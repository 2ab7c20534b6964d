package client

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/progress"
	"github.com/eagleray/eagleray/core/wire"
)

// connOf returns the connection of the only caller that a worker has.
func connOf(t *testing.T, w *Client) (in *inConn) {
	t.Helper()
	waitFor(t, "the worker has one caller", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for in = range w.exec.conns {
		}
		return len(w.exec.conns) == 1
	})
	return in
}

// reads has a connection read frames, as if they had come from its caller; mu held.
func (in *inConn) reads(t *testing.T, frames ...[]byte) {
	t.Helper()
	for _, b := range frames {
		if used, err := in.Frames(b); err != nil || used != len(b) {
			t.Fatalf("%d of %d bytes are read: %v", used, len(b), err)
		}
	}
}

// pollsOnce has the worker's program look for work, of which there is none.
func pollsOnce(t *testing.T, w *Client) {
	t.Helper()
	if it, err := w.NextTask(time.Millisecond, ""); it != nil || err != nil {
		t.Errorf("the program gets %+v, %v, want nothing", it, err)
	}
}

// A task goes back when it comes while another one waits for objects or runs for long. The call of an actor waits.
func TestFrame_TaskComesWhileAnotherOneRuns_GoesBackWhenThatTakesLong(t *testing.T) {
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
		w := startDaemon(t).programless()
		p := calls(t, w, x.role, nil)
		p.send(templateOf(1, nil), callOf(1, 1, "runs"))
		it := takes(t, w)
		w.mu.Lock()
		e := w.exec
		e.lent, e.started = x.lent, time.Now().Add(time.Hour)
		if x.late {
			e.started = time.Now().Add(-time.Hour)
		}
		e.calls[it.Token].in.reads(t, callOf(2, 1, "comes"))
		waiting := len(e.queue)
		e.started = time.Now().Add(5 * time.Second) // the background poller may nap for half of that
		w.mu.Unlock()
		if back := waiting == 0; back != x.back {
			t.Errorf("%+v: the task that comes goes back: %v", x, back)
			continue
		}
		if x.back {
			if s := p.reads(); s.op != wire.OpReturned || len(s.seqs) != 1 || s.seqs[0] != 2 {
				t.Errorf("%+v: the caller is told %+v, want that call 2 comes back", x, s)
			}
		}
		answers(t, w, it, "a")
		if !x.back {
			next := takes(t, w)
			if textOf(next) != "comes" {
				t.Errorf("%+v: the program gets %q", x, textOf(next))
			}
			answers(t, w, next, "b")
		}
		isEmpty(t, w, "exec_calls", "exec_queue")
	}
}

// A call of a group that there is not is answered, and is in no queue then.
func TestFrame_CallOfAnUnknownGroup_IsNotQueued(t *testing.T) {
	w := startDaemon(t).programless()
	p := calls(t, w, wire.RoleActor, nil)
	in := connOf(t, w)
	w.mu.Lock()
	in.reads(t, templateOf(1, func(x *frame.Template) { x.Group = "none" }), callOf(7, 1, "a"))
	e := w.exec
	if len(e.queue) != 0 || e.backlog.bytes != 0 || len(e.calls) != 0 || e.busy != 0 {
		t.Errorf("%d calls of %d bytes wait, and %d run, of which %d count", len(e.queue), e.backlog.bytes, len(e.calls), e.busy)
	}
	w.mu.Unlock()
	pollsOnce(t, w)
	if s := p.reads(); s.op != wire.OpReply || s.reply.Seq != 7 || s.reply.Flags&wire.ReplyAppError == 0 {
		t.Errorf("the caller is told %+v, want that its call has failed", s)
	}
}

// resumed is the frame of a call that runs again, of whose results its caller has some.
func resumed(seq uint32, template uint64, had ...int) []byte {
	b, at := frame.BeginTask(nil, seq, template, uint64(seq)*100, true)
	b = frame.AppendCount(frame.AppendInline(b, inlineText("again")), 0)
	return frame.End(frame.AppendHad(b, had), at)
}

// A call that makes lost results again does not wait behind one that waits for its arguments: that may be what needs them.
func TestParseTask_RunsAgain_IsNotedWithWhatItsCallerHas(t *testing.T) {
	w := startDaemon(t).programless()
	calls(t, w, wire.RoleLease, nil)
	in := connOf(t, w)
	w.mu.Lock()
	defer w.mu.Unlock()
	in.reads(t, templateOf(1, func(x *frame.Template) { x.Returns = 3 }), generatorOf(2, Flow{Mode: FlowStream}))
	args := frame.Place{Envelope: inlineText("")}
	for i, x := range []struct {
		what  string
		call  []byte
		again bool
		had   int
	}{
		{"a call that runs for the first time", callOf(1, 1, "first"), false, 0},
		{"a call whose caller has two results", resumed(2, 1, 0, 2), true, 2},
		{"a call whose caller has nothing", resumed(3, 1), true, 0},
		{"a generator that runs for the first time", callWith(4, 2, args, new(frame.Resume)), false, 0},
		{"a generator that goes on", callWith(5, 2, args, &frame.Resume{Have: 3}), false, 0},
		{"a generator that makes an item again", callWith(6, 2, args, &frame.Resume{Have: 3, Lost: []uint64{1}}), true, 0},
	} {
		in.reads(t, x.call)
		if len(w.exec.queue) != i+1 {
			t.Fatalf("%s: %d calls wait, want %d", x.what, len(w.exec.queue), i+1)
		}
		if k := w.exec.queue[i]; k.again != x.again || len(k.had) != x.had {
			t.Errorf("%s: it runs again: %v, and its caller has %v", x.what, k.again, k.had)
		}
	}
	if had := w.exec.queue[1].had; !had[0] || had[1] || !had[2] {
		t.Errorf("the caller has the results %v, want 0 and 2", had)
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
	w := startDaemon(t).programless()
	w.mu.Lock()
	w.exec.page = page
	w.mu.Unlock()
	var first progress.Slot
	for i := range 3 {
		p := calls(t, w, wire.RoleActor, func(h *wire.Hello) { h.LeaseID = uint64(i + 1) })
		in := connOf(t, w)
		p.send(templateOf(1, nil), callOf(5, 1, "a"))
		it := takes(t, w)
		answers(t, w, it, "b")
		p.isReply(5, 0, "b")
		if seq, known := r.Read().Of(progress.Caller{Owner: p.self, Conn: uint32(i + 1)}); seq != 5 || !known {
			t.Errorf("caller %d: call %d has begun, known: %v", i, seq, known)
		}
		w.mu.Lock()
		if i == 0 {
			first = in.slot
		} else if in.slot != first {
			t.Errorf("caller %d has another place than the first one, which has left", i)
		}
		w.mu.Unlock()
		p.leave()
		waitFor(t, "the worker sees its caller leave", func() bool {
			pollsOnce(t, w)
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.exec.conns) == 0
		})
		w.mu.Lock()
		if in.slot != (progress.Slot{}) {
			t.Errorf("caller %d has left and has a place", i)
		}
		w.mu.Unlock()
		if seq, _ := r.Read().Of(progress.Caller{Owner: p.self, Conn: uint32(i + 1)}); seq != 0 {
			t.Errorf("caller %d has left, and the page names its call %d", i, seq)
		}
	}
	// A leased task's connection has no place.
	calls(t, w, wire.RoleLease, nil)
	in := connOf(t, w)
	w.mu.Lock()
	defer w.mu.Unlock()
	if in.slot != (progress.Slot{}) {
		t.Error("the connection of a lease has a place among an actor's callers")
	}
}

// A function that the program has loaded stays until the program lets it go, also when its callers have left.
func TestFunction_ItsCallerLeaves_StaysUntilTheProgramUnloadsIt(t *testing.T) {
	for _, loaded := range []bool{true, false} {
		w := startDaemon(t).programless()
		p := calls(t, w, wire.RoleLease, nil)
		p.send(templateOf(1, nil), callOf(1, 1, "a"))
		it := takes(t, w)
		if loaded {
			if b, err := w.Function(it.Tmpl.FID); string(b) != "code of f" || err != nil {
				t.Fatalf("%q, %v", b, err)
			}
		}
		answers(t, w, it, "b")
		p.isReply(1, 0, "b")
		p.leave()
		waitFor(t, "the worker sees its caller leave", func() bool {
			pollsOnce(t, w)
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.exec.conns) == 0
		})
		b, err := w.Function(it.Tmpl.FID)
		if loaded && (string(b) != "code of f" || err != nil) || !loaded && fault.CodeOf(err) != fault.Internal {
			t.Errorf("loaded before: %v, the function is now %q, %v", loaded, b, err)
		}
		w.Unload(it.Tmpl.FID)
		if b, err := w.Function(it.Tmpl.FID); fault.CodeOf(err) != fault.Internal {
			t.Errorf("a function that was unloaded is %q, %v", b, err)
		}
	}
}
