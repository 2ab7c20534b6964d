package execute

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A deferred call keeps those of its caller behind it waiting, but for calls that
// run again; other callers' go on.
func TestNext_DeferredCall_HoldsItsCallersOnly(t *testing.T) {
	w, s := newWorker()
	x, _ := s.joins(w, "x", wire.RoleActor)
	y, _ := s.joins(w, "y", wire.RoleActor)
	task := func(c *Caller) *Call { return &Call{Caller: c, Tmpl: &Template{}} }
	waits, behind, again, other := task(x), task(x), task(x), task(y)
	waits.deferred, again.again = true, true
	l := &w.main
	l.queue, l.deferred = []*Call{waits, behind, again, other}, 1
	for i, want := range []*Call{again, other, nil} {
		if head := w.Head(l); head != want {
			t.Fatalf("the head is %+v, want %+v", head, want)
		}
		if got := w.Next(l); got != want {
			t.Fatalf("call %d is %+v, want %+v", i, got, want)
		}
	}
	w.Arrived(waits)
	w.Arrived(waits) // a second time it changes nothing
	if l.deferred != 0 {
		t.Fatalf("%d calls are deferred", l.deferred)
	}
	for i, want := range []*Call{waits, behind, nil} {
		if got := w.Next(l); got != want {
			t.Fatalf("call %d is %+v, want %+v", i, got, want)
		}
	}
	// Calls in front of the deferred one are first.
	front, last := task(x), task(x)
	last.deferred = true
	l.queue, l.deferred = []*Call{front, last}, 1
	if got := w.Next(l); got != front {
		t.Errorf("got %+v", got)
	}
}

func TestNext_Leaving_NothingBegins(t *testing.T) {
	w, s := newWorker()
	x, _ := s.joins(w, "x", wire.RoleActor)
	w.main.queue, w.leaving = []*Call{{Caller: x, Tmpl: &Template{}}}, true
	if w.Next(&w.main) != nil || w.Head(&w.main) != nil || len(w.main.queue) != 1 {
		t.Error("a call begins in a worker that leaves")
	}
	if w.leaving = false; w.Next(&w.main) == nil || len(w.main.queue) != 0 {
		t.Error("no call begins")
	}
}

// What waits in an actor is shared out among its groups.
func TestDeclareGroups_RoomIsShared(t *testing.T) {
	for _, x := range []struct {
		names []string
		serve func()
		share int
	}{{nil, nil, 0}, {nil, func() {}, 0}, {[]string{"io"}, nil, maxBacklog / 2}, {[]string{"io", "disk"}, func() {}, maxBacklog / 4}, {[]string{"io", "io"}, nil, maxBacklog / 2}} {
		w, _ := newWorker()
		if err := w.DeclareGroups(x.names, x.serve); err != nil {
			t.Fatal(err)
		}
		if got := w.backlog.share; got != x.share {
			t.Errorf("with the groups %q and a system group %v each may have %d bytes, want %d", x.names, x.serve != nil, got, x.share)
		}
		for _, name := range x.names {
			if l := w.Lane(name); l == nil || l.name != name || l.Main() {
				t.Errorf("the lane of %q is %+v", name, l)
			}
		}
	}
	w, _ := newWorker()
	if err := w.DeclareGroups(make([]string, MaxGroups), nil); err != nil {
		t.Errorf("as many groups as are allowed: %v", err)
	}
	if err := w.DeclareGroups(make([]string, MaxGroups+1), nil); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("one group too many: %v", err)
	}
	if w.Lane("none") != nil || w.Lane("") != &w.main {
		t.Error("an unknown group has a lane, or the default one has another")
	}
}

// A submission belongs to the only call that runs, if it is a task's. Threads of actors are nobody's.
func TestOnlyTask_NotOfActorsOrOfSeveral(t *testing.T) {
	task, method := &Template{Kind: 0}, &Template{Kind: 1}
	for what, x := range map[string]struct {
		calls runs
		want  uint64
	}{
		"nothing runs":       {runs{}, 0},
		"a task runs":        {callsOf(&Call{token: 3, Tmpl: task}), 3},
		"two tasks run":      {callsOf(&Call{token: 3, Tmpl: task}, &Call{token: 4, Tmpl: task}), 0},
		"a method runs":      {callsOf(&Call{token: 3, Tmpl: method}), 0},
		"a constructor runs": {callsOf(&Call{token: 3, Tmpl: task, Actor: &wire.ActorStart{}}), 0},
	} {
		if got := (&Worker{calls: x.calls}).OnlyTask(); got != x.want {
			t.Errorf("%s: call %d, want %d", what, got, x.want)
		}
	}
}
