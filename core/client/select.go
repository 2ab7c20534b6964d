package client

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/localstore"
	"github.com/eagleray/eagleray/core/refs"
)

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
		if !o.State().Ready() {
			continue
		}
		if here && localstore.MustFetch(o) {
			return 0, false
		}
		if o.IsError() {
			o.MarkSeen()
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
		if o.State().Ready() {
			if o.IsError() {
				o.MarkSeen()
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
