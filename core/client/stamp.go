package client

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
)

// A thread that waits for many objects puts a number on each of them, the
// number of its wait; what becomes ready with a number on it is counted by that
// wait. To begin a wait costs a store for each object then, and to end it
// nothing: a number that no wait has any more says nothing. A program that waits
// for a thousand tasks one by one begins a thousand waits over all that are left.
//
// An object has room for one number. Further waits for it are in its watch.
// Numbers are no state to be moved: a process that moves has no thread that waits.

// numbered is a wait with its number.
type numbered struct {
	number uint32
	wait   *wait.Wait
	beside []*refs.Object // that had the number of another wait
}

// stamp makes w count what becomes ready of the objects; mu held.
func (c *Client) stamp(w *wait.Wait, objs []*refs.Object) {
	if c.stamps++; c.stamps == 0 { // that number stands for no wait
		c.stamps++
	}
	c.stamped = append(c.stamped, numbered{number: c.stamps, wait: w})
	x := &c.stamped[len(c.stamped)-1]
	for _, o := range objs {
		switch {
		case o.State.Ready():
		case o.Stamp == 0 || c.stamper(o.Stamp) == nil:
			o.Stamp = x.number
		default:
			y := watchOf(o)
			y.waiters = append(y.waiters, w)
			x.beside = append(x.beside, o)
		}
	}
}

// unstamp ends that; mu held.
func (c *Client) unstamp(w *wait.Wait) {
	for i := range c.stamped {
		if x := c.stamped[i]; x.wait == w {
			last := len(c.stamped) - 1
			c.stamped[i], c.stamped[last] = c.stamped[last], numbered{}
			c.stamped = c.stamped[:last]
			for _, o := range x.beside {
				c.unwatch(o, w)
			}
			return
		}
	}
}

// stamper returns the wait with a number, nil when it has ended; mu held.
func (c *Client) stamper(number uint32) *wait.Wait {
	for i := range c.stamped {
		if c.stamped[i].number == number {
			return c.stamped[i].wait
		}
	}
	return nil
}

// settledFor tells a wait that an object of its is ready or hopeless; mu held.
func (c *Client) settledFor(w *wait.Wait, o *refs.Object) {
	ends := false
	if o.State == refs.Hopeless {
		ends = w.Infeasible()
	} else {
		ends = w.Ready(o.IsError || o.State == refs.Failed)
	}
	if ends {
		c.poller.Finish(w)
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
func (c *Client) lookUp(list []*ids.Object) ([]*refs.Object, error) {
	n := len(list)
	objs := c.scratch
	c.scratch = nil
	if cap(objs) < n {
		objs = make([]*refs.Object, n)
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

func (c *Client) scratched(objs []*refs.Object) {
	clear(objs)
	if cap(objs) <= keptScratch {
		c.scratch = objs
	}
}
