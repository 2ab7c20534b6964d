package client

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// The thread that polls for a worker's running task goes on polling while the task may still be short,
// and rests when its like run long enough.
func TestUndisturbed_OnlyWhileATaskRunsThatWaitsForNobody(t *testing.T) {
	long := &RemoteTemplate{usual: 10 * time.Millisecond}
	for what, x := range map[string]struct {
		c           *Client
		left, rests bool
	}{
		"no worker":               {&Client{}, false, false},
		"nothing runs":            {&Client{exec: &executor{}}, false, false},
		"a socket is to be read":  {&Client{exec: &executor{busy: 1, unread: true, started: time.Now(), last: long}}, false, false},
		"it waits for an answer":  {&Client{exec: &executor{busy: 1, started: time.Now(), last: long}, submitter: submitter{inflight: 1}}, false, false},
		"a task runs":             {&Client{exec: &executor{busy: 1, started: time.Now().Add(time.Minute), last: &RemoteTemplate{}}}, true, false},
		"a task of long ones":     {&Client{exec: &executor{busy: 1, started: time.Now().Add(time.Minute), last: long}}, true, true},
		"two tasks":               {&Client{exec: &executor{busy: 2, started: time.Now().Add(time.Minute), last: long}}, true, true},
		"it has run for too long": {&Client{exec: &executor{busy: 1, started: time.Now().Add(-time.Minute), last: long}}, false, false},
	} {
		left, rests := (*host)(x.c).Undisturbed()
		if left > 0 != x.left || rests != x.rests {
			t.Errorf("%s: %v, %v; want that some is left %v, rests %v", what, left, rests, x.left, x.rests)
		}
	}
}

// A worker looks again a little after the calls behind a long one are due to go back.
func TestLookAgain_CallsWaitBehindALongOne_SoonerThanOtherwise(t *testing.T) {
	waits := lane{queue: []*call{{}}}
	now := time.Now()
	for what, x := range map[string]struct {
		e       *executor
		atLeast time.Duration
		atMost  time.Duration
	}{
		"no worker":           {nil, time.Hour, time.Hour},
		"nothing waits":       {&executor{busy: 1, started: now}, time.Hour, time.Hour},
		"nothing runs":        {&executor{lane: waits}, time.Hour, time.Hour},
		"it is due":           {&executor{lane: waits, busy: 1, started: now.Add(-time.Hour)}, time.Millisecond, time.Millisecond},
		"it is due in a time": {&executor{lane: waits, busy: 1, started: now.Add(time.Minute)}, time.Second, time.Minute + 2*bounceAtMost},
	} {
		c := &Client{exec: x.e}
		if got := (*host)(c).LookAgain(time.Hour); got < x.atLeast || got > x.atMost {
			t.Errorf("%s: it looks again after %v, want %v to %v", what, got, x.atLeast, x.atMost)
		}
	}
}

// The poller reads on for a worker while calls run or sockets may not have been read.
func TestServing_AWorkerWithWork(t *testing.T) {
	full := backlog{full: true}
	for what, x := range map[string]struct {
		e              *executor
		serving, reads bool
	}{
		"no worker":              {nil, false, false},
		"nothing to do":          {&executor{}, false, false},
		"a call runs":            {&executor{busy: 1}, true, false},
		"a socket is to be read": {&executor{unread: true}, true, true},
		"its callers are held":   {&executor{unread: true, backlog: full}, true, false},
	} {
		h := (*host)(&Client{exec: x.e})
		if h.Serving() != x.serving || h.ReadsAll() != x.reads {
			t.Errorf("%s: serving %v, reads all %v", what, h.Serving(), h.ReadsAll())
		}
	}
}

// A poller that fails ends the session; who calls a process that is no worker is turned away.
func TestHost_PollerFailsOrAStrangerCalls(t *testing.T) {
	c := startDaemon(t).driver()
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	(*host)(c).Called(pipe[1], &wire.Hello{Role: wire.RoleLease}, -1)
	if n, err := unix.Read(pipe[0], make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("the caller reads %d bytes, %v; want the end of the connection", n, err)
	}
	c.mu.Lock()
	(*host)(c).Failed(errors.New("poll: it is broken"))
	c.fail(errors.New("a later reason"))
	c.mu.Unlock()
	if err := c.Err(); err == nil || err.Error() != "poll: it is broken" {
		t.Errorf("the session has ended with %v", err)
	}
}

// When the connection to an owner is lost, the references whose values are still awaited from there fail, and no others.
func TestLost_OwnerIsGone_WhatIsAwaitedThereFails(t *testing.T) {
	c := startDaemon(t).driver()
	c.mu.Lock()
	defer c.mu.Unlock()
	borrow := func(n uint64, addr string, state refs.State) *refs.Object {
		o := c.borrow(ids.NewObject(n, ids.Owner{9}, c.info.Job, 0), addr)
		inState(o, state)
		return o
	}
	awaited, ready, other := borrow(1, "/gone", refs.Pending), borrow(2, "/gone", refs.Inline), borrow(3, "/there", refs.Pending)
	c.closed = true
	(*host)(c).Lost("/gone")
	if awaited.State() != refs.Pending {
		t.Error("a session that has ended changes its references")
	}
	c.closed = false
	(*host)(c).Lost("/gone")
	if awaited.State() != refs.Failed || awaited.Fault() == nil || awaited.Fault().Code != fault.OwnerDied {
		t.Errorf("what is awaited from the owner is in state %v, %v", awaited.State(), awaited.Fault())
	}
	if ready.State() != refs.Inline || other.State() != refs.Pending {
		t.Errorf("a value that is there: %v; one of another owner: %v", ready.State(), other.State())
	}
}

// What a process held of ours goes when it leaves.
func TestLeft_BorrowerIsGone_ItHoldsNothing(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	id, held := putBytes(t, c, 10, 1), putBytes(t, c, 10, 2)
	who := ids.Owner{7}
	c.mu.Lock()
	c.table.AddBorrower(c.table.Find(id), who)
	o := c.table.Find(held)
	c.table.Pin(o)
	c.hold(who, ids.Task{1}, []*refs.Object{o})
	c.mu.Unlock()
	c.Release(Drop{Object: id})
	c.Release(Drop{Object: held})
	for _, x := range []struct {
		closed bool
		who    ids.Owner
		owned  int
	}{{true, who, 2}, {false, ids.Owner{8}, 2}, {false, who, 0}} {
		c.mu.Lock()
		c.closed = x.closed
		(*host)(c).Left(x.who)
		c.closed = false
		owned, _ := c.table.Len()
		c.mu.Unlock()
		if owned != x.owned {
			t.Errorf("after %v has left, in a session that has ended %v, %d objects are owned, want %d", x.who, x.closed, owned, x.owned)
		}
	}
}
