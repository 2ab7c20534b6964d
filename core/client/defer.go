package client

import (
	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
)

// An actor's call that takes something lost waits in the queue until that is
// there again, see package execute. Here is decided when it does.

// mayDefer reports whether the loss of an argument is to be waited for in the
// queue: not again for one that is not to be had, or was lost again and again.
func (c *Client) mayDefer(k *execute.Call, p frame.Place) bool {
	if k.Misses() == 0 {
		return true
	}
	o := c.table.Find(p.ID)
	return k.Misses() < maxMisses && (o == nil || o.State() == refs.Stored || o.State() == refs.Pending)
}

// toCome reports whether an argument of an actor's call was not there when the
// call was sent, since it was being looked for, and still is not.
func (c *Client) toCome(k *execute.Call, p frame.Place) bool {
	if p.Envelope != nil || p.Size > 0 || k.Leased() || k.Actor != nil || k.Misses() >= maxMisses {
		return false
	}
	o := c.table.Find(p.ID)
	return o == nil || o.State() == refs.Pending
}

// deferCall puts a call back that has not begun, until what it takes is there; mu held.
func (c *Client) deferCall(k *execute.Call, lost []int) {
	if !c.exec.Defer(k) {
		return
	}
	w, missing := wait.Calling(func() { c.exec.Arrived(k) }), 0
	for _, i := range lost {
		p := k.Args
		if i > 0 {
			p = k.Deps[i-1]
		}
		if o := c.wanted(k, p); o.State() == refs.Pending {
			missing++
			c.table.Watch(o, w)
		}
	}
	if w.For(missing, missing, false); missing == 0 {
		c.poller.Finish(w)
	}
	c.poller.SendAll()
	c.poller.Arm()
}
