package client

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// The session's part of registering references with their owners: see
// registration.go and confirmations.go of package refs.

// ackPatience is how long an answer waits for owners.
const ackPatience = 5 * time.Millisecond

// registered waits a moment until all references that came here are registered,
// and reports whether they are. While an owner is known to be late it does not
// wait; mu held, released meanwhile.
func (c *Client) registered() bool {
	if t := c.table; t.Unregistered() > 0 && !t.OwnerLate() {
		w := wait.New()
		t.AwaitRegistered(w)
		c.poller.Await(w, time.Now().Add(ackPatience))
		t.StopAwaitingRegistered(w)
	}
	return c.table.Unregistered() == 0
}

// Receipt implements refs.Effects.
func (h *host) Receipt(worker string, t ids.Task) {
	(*Client)(h).withPeer(worker, func(p *wire.Peer, err error) {
		if err == nil {
			_ = p.Push(wire.TReceived, wire.Received{TaskID: t[:]})
		}
	})
}

// hold keeps what a result refers to until its caller confirms the result; mu held.
func (c *Client) hold(caller ids.Owner, t ids.Task, list []*refs.Object) {
	c.table.HoldResult(caller, t, list)
}

// lookForCaller sees to what is held for a caller whose task socket broke; mu held.
func (c *Client) lookForCaller(who ids.Owner, addr string) {
	if !c.closed {
		c.table.CallerLost(who, addr)
	}
}

// unsettled holds what a task took until its worker has registered what it keeps; mu held.
func (c *submitter) unsettled(t *task, worker string) {
	list := slices.Concat(t.deps, t.nested)
	if t.argsRef != nil {
		list = append(list, t.argsRef)
	}
	c.table.Retain(worker, list)
}

// AskRegistered implements refs.Effects.
func (h *host) AskRegistered(r *refs.Retained, pause time.Duration) {
	c := (*Client)(h)
	if pause == 0 {
		c.askRegistered(r)
		return
	}
	time.AfterFunc(pause, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed {
			c.askRegistered(r)
		}
	})
}

func (c *Client) askRegistered(r *refs.Retained) {
	answered := func(yes bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed {
			c.table.WorkerRegistered(r, yes)
		}
	}
	c.withPeer(r.Worker(), func(p *wire.Peer, err error) {
		if err != nil {
			answered(true) // the worker has ended, and keeps nothing
			return
		}
		p.Go(wire.TRegistered, nil, func(m *wire.Message, err error) {
			var yes bool
			if err == nil {
				err = m.Decode(&yes)
			}
			answered(yes || err != nil)
		})
	})
}
