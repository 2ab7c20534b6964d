package client

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/own"
)

// A thread that waits for many objects puts a number on each of them, the
// number of its wait; what becomes ready with a number on it is counted by that
// wait. To begin a wait costs a store for each object then, and to end it
// nothing: a number that no wait has any more says nothing. A program that waits
// for a thousand tasks one by one begins a thousand waits over all that are left.
//
// An object has room for one number. Further waits for it are in its watch.
// Numbers are no state to be moved: a process that moves has no thread that waits.

// stamp makes w count what becomes ready of the objects; mu held.
func (c *Client) stamp(w *waiter, objs []*own.Object) {
	c.stamps++
	if c.stamps == 0 {
		c.stamps = 1
	}
	w.number = c.stamps
	c.stamped = append(c.stamped, w)
	for _, o := range objs {
		switch {
		case o.State.Ready():
		case o.Stamp == 0 || c.stamper(o.Stamp) == nil:
			o.Stamp = w.number
		default:
			x := watchOf(o)
			x.waiters = append(x.waiters, w)
			w.beside = append(w.beside, o)
		}
	}
}

// unstamp ends that; mu held.
func (c *Client) unstamp(w *waiter) {
	for i, x := range c.stamped {
		if x == w {
			last := len(c.stamped) - 1
			c.stamped[i], c.stamped[last] = c.stamped[last], nil
			c.stamped = c.stamped[:last]
			break
		}
	}
	for _, o := range w.beside {
		c.unwatch(o, w)
	}
	w.beside = nil
}

// stamper returns the wait with a number, nil when it has ended; mu held.
func (c *Client) stamper(number uint32) *waiter {
	for _, w := range c.stamped {
		if w.number == number {
			return w
		}
	}
	return nil
}

// settledFor tells a wait that an object of its is ready or hopeless; mu held.
func (c *Client) settledFor(w *waiter, o *own.Object) {
	w.open--
	if o.State == own.Hopeless {
		if w.failFast || w.open <= 0 {
			c.finish(w)
		}
		return
	}
	w.need--
	if w.need <= 0 || w.open <= 0 || w.failFast && (o.IsError || o.State == own.Failed) {
		c.finish(w)
	}
}

// SelectNow looks for the first need objects of a list that are ready, and puts
// their places into pick. It waits for nobody. Sure: nothing more is to be found
// out by Select than that, now; here: see WaitHere.
func (c *Client) SelectNow(list []*ids.Object, need int, here bool, pick []uint32) (got int, sure bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, id := range list {
		o, err := c.find(*id)
		if err != nil {
			return 0, false
		}
		if !o.State.Ready() {
			continue
		}
		if here && far(o) {
			return 0, false
		}
		if o.IsError {
			o.Seen = true
		}
		pick[got] = uint32(i)
		if got++; got == need {
			break
		}
	}
	return got, true
}

// Select waits like Wait, and puts the places of the first need objects that are
// ready into pick. Done: it ended before the timeout.
func (c *Client) Select(list []*ids.Object, need int, timeout time.Duration, here bool, pick []uint32) (got int, done bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	objs, err := c.lookUp(list)
	if err != nil {
		return 0, false, err
	}
	defer c.scratched(objs)
	mode := WaitSome
	if here {
		mode = WaitHere
	}
	if done, err = c.waitMany(context.Background(), objs, need, timeout, mode); err != nil {
		return 0, false, err
	}
	for i, o := range objs {
		if o.State.Ready() {
			if o.IsError {
				o.Seen = true
			}
			pick[got] = uint32(i)
			if got++; got == need {
				break
			}
		}
	}
	return got, done, nil
}

// keptScratch is how many objects a list may have whose memory is used again.
const keptScratch = 1 << 14

// lookUp returns the objects of a list, in memory that scratched takes back; mu held.
func (c *Client) lookUp(list []*ids.Object) ([]*own.Object, error) {
	n := len(list)
	objs := c.scratch
	c.scratch = nil
	if cap(objs) < n {
		objs = make([]*own.Object, n)
	}
	objs = objs[:n]
	for i, id := range list {
		o, err := c.find(*id)
		if err != nil {
			c.scratched(objs)
			return nil, err
		}
		objs[i] = o
	}
	return objs, nil
}

func (c *Client) scratched(objs []*own.Object) {
	clear(objs)
	if cap(objs) <= keptScratch {
		c.scratch = objs
	}
}
