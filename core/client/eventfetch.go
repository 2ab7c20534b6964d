package client

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/localstore"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
)

// An event loop must not wait: neither for the store to find a value, nor for a
// value that was lost to be computed again. So a value that lies in the store is
// fetched before the event loop is told that it is ready.

// ring tells the event loop that what it waits for with the token has come; mu held.
func (c *Client) ring(token uint64) {
	if c.async.fd < 0 {
		return // the session has ended
	}
	c.async.ended = append(c.async.ended, token)
	one := [8]byte{1}
	_, _ = unix.Write(c.async.fd, one[:])
}

// fetchForLoop fetches the object, so that a get of it returns at once with a value or
// an error, and then tells the event loop.
func (c *Client) fetchForLoop(id ids.Object, token uint64, misses int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, err := c.find(id); err == nil && localstore.MustFetch(o) && misses < maxMisses {
		v, err := c.pinStored(o, time.Time{})
		switch {
		case err == nil:
			c.local.Unhold(v)
		case isLost(err):
			c.missed(o)
			c.watchForLoop(o, token, misses+1)
			return
		}
	}
	c.ring(token)
}

// watchForLoop tells the event loop when the object is ready and a get of it returns at once; mu held.
func (c *Client) watchForLoop(o *refs.Object, token uint64, misses int) {
	settled := func() {
		if localstore.MustFetch(o) {
			go c.fetchForLoop(o.ID, token, misses)
		} else {
			c.ring(token)
		}
	}
	if o.State() != refs.Pending { // somebody has seen to it meanwhile
		settled()
		return
	}
	c.table.Watch(o, wait.Calling(settled).For(1, 1, true))
	c.poller.SendAll()
	c.poller.LoopWaits()
}
