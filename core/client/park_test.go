package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// A parked call keeps those of its caller behind it waiting, but for calls that
// run again; other callers' go on.
func TestLaneNext_ParkedCall_HoldsItsCallersOnly(t *testing.T) {
	x, y := &inConn{}, &inConn{}
	parked := &call{in: x, parked: true}
	behind, again, other := &call{in: x}, &call{in: x, again: true}, &call{in: y}
	l := &lane{queue: []*call{parked, behind, again, other}, parks: 1}
	for i, want := range []*call{again, other, nil} {
		if got := l.next(); got != want {
			t.Fatalf("call %d is %+v, want %+v", i, got, want)
		}
	}
	e := &executor{lane: *l}
	e.unpark(parked)
	e.unpark(parked) // a second time it changes nothing
	if e.parks != 0 {
		t.Fatalf("%d calls are parked", e.parks)
	}
	for i, want := range []*call{parked, behind, nil} {
		if got := e.next(&e.lane); got != want {
			t.Fatalf("call %d is %+v, want %+v", i, got, want)
		}
	}
	// Calls in front of the parked one are first.
	front := &call{in: x}
	l = &lane{queue: []*call{front, {in: x, parked: true}}, parks: 1}
	if got := l.next(); got != front {
		t.Errorf("got %+v", got)
	}
}

func TestExecutorNext_Leaving_NothingBegins(t *testing.T) {
	e := &executor{lane: lane{queue: []*call{{}}}, leaving: true}
	if e.next(&e.lane) != nil || len(e.queue) != 1 {
		t.Error("a call begins in a worker that leaves")
	}
	if e.leaving = false; e.next(&e.lane) == nil || len(e.queue) != 0 {
		t.Error("no call begins")
	}
}

// What is lost is waited for in the queue the first time. Later that helps only
// for what can come back, and not more often than maxMisses.
func TestMayPark_AsLongAsItMayComeBack(t *testing.T) {
	c := startDaemon(t).driver()
	e := &executor{c: c}
	c.mu.Lock()
	defer c.mu.Unlock()
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
		if got := e.mayPark(&call{misses: x.misses}, x.p); got != x.want {
			t.Errorf("%s: %v", x.what, got)
		}
	}
}

// An argument without a value and a size was not there when an actor's call was sent.
func TestToCome_OnlyWhatWasNotThereWhenTheCallWasSent(t *testing.T) {
	c := startDaemon(t).driver()
	e := &executor{c: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	there := c.borrow(ids.NewObject(100, ids.Owner{9}, c.info.Job, 0), "somewhere")
	inState(there, refs.Stored)
	awaited := c.borrow(ids.NewObject(101, ids.Owner{9}, c.info.Job, 0), "somewhere")
	unknown := ids.NewObject(102, ids.Owner{9}, c.info.Job, 0)
	actor, lease := &inConn{}, &inConn{lease: true}
	for _, x := range []struct {
		what string
		k    call
		p    frame.Place
		want bool
	}{
		{"nobody knows it", call{in: actor}, frame.Place{ID: unknown}, true},
		{"it is awaited", call{in: actor}, frame.Place{ID: awaited.ID}, true},
		{"it has come", call{in: actor}, frame.Place{ID: there.ID}, false},
		{"its value came with the call", call{in: actor}, frame.Place{ID: unknown, Envelope: []byte("x")}, false},
		{"it is in the store", call{in: actor}, frame.Place{ID: unknown, Size: 1}, false},
		{"a task, whose caller holds it", call{in: lease}, frame.Place{ID: unknown}, false},
		{"a constructor", call{in: actor, actor: new(wire.ActorStart)}, frame.Place{ID: unknown}, false},
		{"lost too often", call{in: actor, misses: maxMisses}, frame.Place{ID: unknown}, false},
		{"lost often", call{in: actor, misses: maxMisses - 1}, frame.Place{ID: unknown}, true},
	} {
		if got := e.toCome(&x.k, x.p); got != x.want {
			t.Errorf("%s: %v", x.what, got)
		}
	}
}

// A parked call is at the head of the queue, is found by a cancellation there,
// and counts as begun no more. It goes on when everything that is lost has come.
func TestPark_LostArguments_TheCallGoesOnWhenAllHaveCome(t *testing.T) {
	c := startDaemon(t).driver()
	e := &executor{c: c, calls: map[uint64]*call{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	awaited := func(n uint64) *refs.Object {
		o := c.borrow(ids.NewObject(n, ids.Owner{9}, c.info.Job, 0), "somewhere")
		o.MarkAsked() // its owner has been asked
		c.table.Pin(o)
		return o
	}
	a, b, other := awaited(100), awaited(101), awaited(102)
	in := &inConn{c: c}
	behind := &call{in: in}
	k := &call{in: in, task: ids.Task{5}, taken: true, args: frame.Place{ID: other.ID}, deps: []frame.Place{{ID: a.ID}, {ID: b.ID}}}
	e.calls[7], e.busy, e.queue = k, 1, []*call{behind}
	e.park(7, k, []int{1, 2})
	if len(e.calls) != 0 || e.busy != 0 || !k.parked || k.taken || k.misses != 1 || e.parks != 1 || len(e.queue) != 2 || e.queue[0] != k {
		t.Fatalf("%d run, busy %d, parks %d, %+v", len(e.calls), e.busy, e.parks, k)
	}
	if e.index.calls[k.task] != k {
		t.Error("a cancellation would not find it")
	}
	if got := e.next(&e.lane); got != nil {
		t.Fatalf("%+v goes before it", got)
	}
	if len(k.owned) != 2 || k.owned[0] != a || k.owned[1] != b {
		t.Errorf("it holds %d objects", len(k.owned))
	}
	if n := len(other.Waits()); n != 0 {
		t.Errorf("%d wait for an argument that is not lost", n)
	}
	for i, o := range []*refs.Object{a, b} {
		if !k.parked {
			t.Fatalf("it goes on after %d of two have come", i)
		}
		c.table.Fail(o, refs.OwnerDied(o.ID))
	}
	if k.parked || e.parks != 0 || e.next(&e.lane) != k || e.next(&e.lane) != behind {
		t.Error("it does not go on when everything has come")
	}
	held := a.Pins()
	if c.letGoOfArguments(k); k.owned != nil || a.Pins() != held-1 {
		t.Errorf("it holds %d objects, and the first has %d pins", len(k.owned), a.Pins())
	}
	c.letGoOfArguments(k) // nothing is left to let go of
	if a.Pins() != held-1 {
		t.Errorf("the first has %d pins", a.Pins())
	}
}

// What its caller does not want any more, or whose caller has gone, is not parked.
func TestPark_CallerHasGone_IsOver(t *testing.T) {
	c := startDaemon(t).driver()
	e := &executor{c: c, calls: map[uint64]*call{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	in := &inConn{c: c}
	in.Conn = transport.Closed(c.poller)
	k := &call{in: in, tmpl: &RemoteTemplate{}}
	e.calls[7], e.busy = k, 1
	e.park(7, k, nil)
	if len(e.calls) != 0 || e.busy != 0 || k.parked || len(e.queue) != 0 || e.parks != 0 {
		t.Errorf("%d run, busy %d, %d are queued", len(e.calls), e.busy, len(e.queue))
	}
}
