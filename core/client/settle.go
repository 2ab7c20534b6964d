package client

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// A task may keep references that it got. They have to be registered with their
// owners before its caller lets go of what they came in. An owner that is
// stopped, or very busy, takes its time: then the answer goes out and says so,
// and the caller holds what the task took until the worker has been heard. The
// end of a constructor waits and says so in the same way, to the actor's creator.

// How long an answer waits for owners, and how often a caller asks again.
const (
	ackPatience = 5 * time.Millisecond
	settleFirst = 10 * time.Millisecond
	settleMost  = time.Second
)

// registered waits a moment until all references that came here are registered,
// and reports whether they are. While an owner is known to be late it does not wait; mu held.
func (c *Client) registered() bool {
	if c.unacked > 0 && !c.ownerLate {
		w := wait.New()
		c.ackWaits = append(c.ackWaits, w)
		c.poller.Await(w, time.Now().Add(ackPatience))
		if !w.Over() {
			c.ackWaits = slices.DeleteFunc(c.ackWaits, func(x *wait.Wait) bool { return x == w })
		}
		c.ownerLate = c.unacked > 0
	}
	return c.unacked == 0
}

// settling is what a call took that was answered before its worker had
// registered what it keeps of that. It is pinned.
type settling struct {
	addr  string // the worker's
	list  []*refs.Object
	pause time.Duration
}

// unsettled holds what a task took until its worker has registered what it keeps; mu held.
func (c *Client) unsettled(t *task, addr string) {
	s := &settling{addr: addr, list: slices.Concat(t.deps, t.nested), pause: settleFirst}
	if t.argsRef != nil {
		s.list = append(s.list, t.argsRef)
	}
	if len(s.list) > 0 {
		c.settle(s)
	}
}

// settle pins what s holds and asks its worker until that is no longer needed; mu held.
func (c *Client) settle(s *settling) {
	for _, o := range s.list {
		c.table.Pin(o)
	}
	c.settlings = append(c.settlings, s)
	c.askSettled(s)
}

func (c *Client) askSettled(s *settling) {
	c.withPeer(s.addr, func(p *wire.Peer, err error) {
		if err != nil {
			c.settlingEnds(s) // the worker has ended, and keeps nothing
			return
		}
		p.Go(wire.TRegistered, nil, func(m *wire.Message, err error) {
			var yes bool
			if err == nil {
				err = m.Decode(&yes)
			}
			if err != nil || yes {
				c.settlingEnds(s)
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			time.AfterFunc(s.pause, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				if !c.closed {
					c.askSettled(s)
				}
			})
			s.pause = min(2*s.pause, settleMost)
		})
	})
}

func (c *Client) settlingEnds(s *settling) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.settlings = slices.DeleteFunc(c.settlings, func(x *settling) bool { return x == s })
	for _, o := range s.list {
		c.table.Unpin(o)
	}
	c.carryOut()
	c.lessNeeded()
}
