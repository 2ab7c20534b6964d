package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// What is lost is waited for in the queue the first time. Later that helps only
// for what can come back, and not more often than maxMisses.
func TestMayDefer_AsLongAsItMayComeBack(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.exec = nil }()
	actor := worksFor(t, c, wire.RoleActor, templateOf(1, nil))
	unknown := frame.Place{ID: ids.NewObject(77, c.self, c.info.Job, 0)}
	state := func(s refs.State) frame.Place {
		o := c.borrow(ids.NewObject(uint64(100+s), ids.Owner{9}, c.info.Job, 0), "somewhere")
		inState(o, s)
		return frame.Place{ID: o.ID}
	}
	for _, x := range []struct {
		what   string
		p      frame.Place
		misses int
		want   bool
	}{
		{"the first time", state(refs.Failed), 0, true},
		{"it has failed", state(refs.Failed), 1, false},
		{"nobody knows it", unknown, 1, true},
		{"it is stored", state(refs.Stored), maxMisses - 1, true},
		{"it is awaited", state(refs.Pending), 1, true},
		{"too often", state(refs.Stored), maxMisses, false},
	} {
		reads(t, actor, callOf(1, 1, ""))
		k := missed(t, c, begins(t, c), x.misses)
		if got := c.mayDefer(k, x.p); got != x.want {
			t.Errorf("%s: %v", x.what, got)
		}
		c.exec.Finish(k)
	}
}

// An argument without a value and a size was not there when an actor's call was sent.
func TestToCome_OnlyWhatWasNotThereWhenTheCallWasSent(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.exec = nil }()
	there := c.borrow(ids.NewObject(100, ids.Owner{9}, c.info.Job, 0), "somewhere")
	inState(there, refs.Stored)
	awaited := c.borrow(ids.NewObject(101, ids.Owner{9}, c.info.Job, 0), "somewhere")
	unknown := ids.NewObject(102, ids.Owner{9}, c.info.Job, 0)
	actor, lease := worksFor(t, c, wire.RoleActor, templateOf(1, nil)), worksFor(t, c, wire.RoleLease, templateOf(1, nil))
	for _, x := range []struct {
		what   string
		from   *execute.Caller
		misses int
		p      frame.Place
		want   bool
	}{
		{"nobody knows it", actor, 0, frame.Place{ID: unknown}, true},
		{"it is awaited", actor, 0, frame.Place{ID: awaited.ID}, true},
		{"it has come", actor, 0, frame.Place{ID: there.ID}, false},
		{"its value came with the call", actor, 0, frame.Place{ID: unknown, Envelope: []byte("x")}, false},
		{"it is in the store", actor, 0, frame.Place{ID: unknown, Size: 1}, false},
		{"a task, whose caller holds it", lease, 0, frame.Place{ID: unknown}, false},
		{"lost too often", actor, maxMisses, frame.Place{ID: unknown}, false},
		{"lost often", actor, maxMisses - 1, frame.Place{ID: unknown}, true},
	} {
		reads(t, x.from, callOf(1, 1, ""))
		k := missed(t, c, begins(t, c), x.misses)
		if got := c.toCome(k, x.p); got != x.want {
			t.Errorf("%s: %v", x.what, got)
		}
		c.exec.Finish(k)
	}
	constructor := &execute.Call{Caller: actor, Actor: new(wire.ActorStart)}
	if c.toCome(constructor, frame.Place{ID: unknown}) {
		t.Error("a constructor is deferred")
	}
}

// A deferred call is at the head of the queue. It goes on when everything that is lost has come, and holds it until then.
func TestDeferCall_LostArguments_TheCallGoesOnWhenAllHaveCome(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.exec = nil }()
	awaited := func(n uint64) *refs.Object {
		o := c.borrow(ids.NewObject(n, ids.Owner{9}, c.info.Job, 0), "somewhere")
		o.MarkAsked() // its owner has been asked
		c.table.Pin(o)
		return o
	}
	a, b, other := awaited(100), awaited(101), awaited(102)
	at := func(o *refs.Object) frame.Place { return frame.Place{ID: o.ID, Owner: "somewhere"} }
	worksFor(t, c, wire.RoleActor, templateOf(1, nil), callWith(1, 1, at(other), nil, at(a), at(b)), callOf(2, 1, "behind"))
	k := begins(t, c)
	c.deferCall(k, []int{1, 2})
	main := c.exec.Lane("")
	if c.exec.Running() != 0 || main.Len() != 2 || c.exec.Next(main) != nil {
		t.Fatalf("%d run, %d wait", c.exec.Running(), main.Len())
	}
	if held := k.Held(); len(held) != 2 || held[0] != a || held[1] != b {
		t.Errorf("it holds %d objects", len(held))
	}
	if n := len(other.Waits()); n != 0 {
		t.Errorf("%d wait for an argument that is not lost", n)
	}
	for i, o := range []*refs.Object{a, b} {
		if !main.Deferred() {
			t.Fatalf("it goes on after %d of two have come", i)
		}
		c.table.Fail(o, refs.OwnerDied(o.ID))
	}
	if main.Deferred() || c.exec.Next(main) != k {
		t.Error("it does not go on when everything has come")
	}
	held := a.Pins()
	if c.exec.Finish(k); len(k.Held()) != 0 || a.Pins() != held-1 {
		t.Errorf("it holds %d objects, and the first has %d pins", len(k.Held()), a.Pins())
	}
}
