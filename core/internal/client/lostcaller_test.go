package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// holdsFor makes the worker hold an object of its own for a caller, as part of
// an answer. It returns the caller's connection, and whether the object is there.
func holdsFor(t *testing.T, w *Client, who ids.Owner, addr string) (*execute.Caller, func() bool) {
	t.Helper()
	id := putBytes(t, w, 10, 1)
	w.mu.Lock()
	o := w.table.Find(id)
	w.table.Pin(o)
	w.table.HoldResult(refs.TaskSocket{Caller: who, Addr: addr, Number: 7}, []*refs.Object{o})
	w.mu.Unlock()
	w.Release(Drop{Object: id})
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exec.AddCaller(new(fakePipe), &wire.Hello{Role: wire.RoleLease, LeaseID: 7, OwnerID: who[:], Addr: addr}, -1), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.TakeDrops()
		return w.table.Find(id) != nil
	}
}

func breaks(w *Client, in *execute.Caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in.Gone(nil)
}

func TestHeld_CallerEndedWithoutAControlConnection_LetGo(t *testing.T) {
	d := startDaemon(t)
	w := d.worker(echo)
	caller, addr, _ := d.stranger()
	in, there := holdsFor(t, w, caller, addr)
	if !there() {
		t.Fatal("the object is gone before the caller is")
	}
	breaks(w, in)
	d.eventually("the object is let go of", func() bool { return !there() })
}

// What is held for a caller that lives stays while it may still read the answer, or has not registered what it has read.
func TestHeld_CallerLivesWithoutItsTaskSocket_KeptUntilItHasReadAll(t *testing.T) {
	for what, x := range map[string]struct{ begin, end func(c *Client) }{
		"it has not noticed that the socket broke": {
			func(c *Client) { c.submit.Leases[7] = new(submit.Lease) }, func(c *Client) { delete(c.submit.Leases, 7) },
		},
		"an owner has not answered it": {
			func(c *Client) { c.table.Registering(1) }, func(c *Client) { c.table.Registered(1) },
		},
	} {
		d := startDaemon(t)
		w := d.worker(echo)
		c := d.driver()
		lock := func(f func(c *Client)) {
			c.mu.Lock()
			defer c.mu.Unlock()
			f(c)
		}
		lock(x.begin)
		in, there := holdsFor(t, w, c.self, c.info.Addr)
		breaks(w, in)
		linked := func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.links.Find(c.info.Addr) != nil && w.links.Quiet()
		}
		d.eventually("the worker is connected to its caller", linked)
		if !there() {
			t.Errorf("%s: the object is let go of", what)
		}
		lock(x.end)
		d.eventually("the object is let go of", func() bool { return !there() })
	}
}

// A caller that has noticed the end of the socket, and has registered all, reads nothing more.
func TestHeld_CallerLivesAndReadsNoMore_LetGo(t *testing.T) {
	d := startDaemon(t)
	w := d.worker(echo)
	c := d.driver()
	in, there := holdsFor(t, w, c.self, c.info.Addr)
	breaks(w, in)
	d.eventually("the object is let go of", func() bool { return !there() })
}
