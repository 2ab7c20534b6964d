package client

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A process that is no worker, or waits for answers of others, reads its sockets as they come.
func TestHost_NoWorkerOrUnansweredCalls_SocketsAreLookedAt(t *testing.T) {
	long := &Client{submit: submit.Submitter{Sent: 1}}
	worksFor(t, long, wire.RoleLease, templateOf(1, nil), callOf(1, 1, ""))
	begins(t, long)
	h := (*host)(long)
	if left, rests := h.Undisturbed(); left != 0 || rests {
		t.Errorf("a worker that waits for an answer leaves its sockets alone for %v, rests %v", left, rests)
	}
	if h.submit.Sent = 0; !h.Serving() {
		t.Error("a worker whose task runs does not serve")
	}
	if left, _ := h.Undisturbed(); left <= 0 {
		t.Error("a worker whose task has just begun is disturbed")
	}
	h = (*host)(&Client{})
	if left, rests := h.Undisturbed(); left != 0 || rests || h.Serving() || h.ReadsAll() || h.LookAgain(time.Hour) != time.Hour {
		t.Errorf("a driver: %v, %v, serving %v, reads all %v", left, rests, h.Serving(), h.ReadsAll())
	}
	h.Polled()
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
		o := c.table.Borrow(ids.NewObject(n, ids.Owner{9}, c.info.Job, 0), addr)
		inState(o, state)
		return o
	}
	awaited, ready, other := borrow(1, "/gone", refs.Pending), borrow(2, "/gone", refs.Inline), borrow(3, "/there", refs.Pending)
	c.borrows.Lost("/gone")
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
	c.table.HoldResult(refs.TaskSocket{Caller: who}, []*refs.Object{o})
	c.mu.Unlock()
	c.Release(Drop{Object: id})
	c.Release(Drop{Object: held})
	for _, x := range []struct {
		who   ids.Owner
		owned int
	}{{ids.Owner{8}, 2}, {who, 0}} {
		c.mu.Lock()
		(*host)(c).Left(x.who)
		owned, _ := c.table.Len()
		c.mu.Unlock()
		if owned != x.owned {
			t.Errorf("after %v has left, %d objects are owned, want %d", x.who, owned, x.owned)
		}
	}
}
