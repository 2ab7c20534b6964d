package client

import (
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// An exception that a task is retried for may carry references, and so may the
// one of a task that was cancelled meanwhile. Nobody gets it: its worker is told
// to let go of them. That must arrive before the next attempt may run there,
// which has the same id, and after what is said about earlier attempts: the
// worker takes what it hears for the oldest one.
// A large exception lies in the store: its room is free, too, before the next
// attempt may want to write there.

// raised tries a task again that raised an exception; mu held.
func (c *Client) raised(t *task) {
	if a := t.actor; a != nil {
		a.queue.pushFront([]*task{t})
		c.pumpActor(a)
		return
	}
	if c.retryDelay > 0 {
		c.againBecause(t, c.retryDelay, "it raised an exception")
		return
	}
	t.tmpl.class.queue.push(t)
	c.pump(t.tmpl.class)
}

// discard reads the n results of a task that is tried again by then; mu held.
// It runs at once unless there are references in them, or they lie in the store.
func (c *Client) discard(r *wire.Reader, n int, t *task, o *outConn, then func()) {
	inner, stored, err := skipResults(r, n)
	if !inner && !stored || err != nil {
		then()
		return
	}
	id := t.id(c)
	c.limbo++
	again := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.limbo--
		if !c.closed && t.counted { // else it has ended meanwhile, because it was cancelled for example
			then()
		}
	}
	if !stored {
		c.unpinDiscarded(id, o.peerAddr, again)
		return
	}
	c.freeWritten(t)
	c.daemon.Go(wire.TObjStats, nil, func(*wire.Message, error) { // which the daemon answers after it has freed them
		if !inner {
			again()
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed {
			c.limbo--
			return
		}
		c.unpinDiscarded(id, o.peerAddr, again)
	})
}

// unpinDiscarded has a worker let go of the references inside the results of a
// run that nobody gets, once they are registered here, and then calls done; mu is
// held, but not in done.
func (c *Client) unpinDiscarded(id ids.Task, worker string, done func()) {
	c.whenRegistered(func() {
		c.withPeer(worker, func(p *wire.Peer, err error) {
			if err != nil {
				done()
				return
			}
			p.Go(wire.TReceived, wire.Received{TaskID: id[:]}, func(*wire.Message, error) { done() })
		})
	})
}

// skipResults reads n results that nobody gets. It reports whether there are
// references inside one of them, and whether one lies in the store.
func skipResults(r *wire.Reader, n int) (inner, stored bool, err error) {
	for range n {
		x, err := frame.ReadResult(r)
		if err != nil {
			return inner, stored, err
		}
		stored = stored || x.Place != wire.PlaceInline
		for range x.Contained {
			if _, _, err := frame.ReadContained(r); err != nil {
				return inner, stored, err
			}
			inner = true
		}
	}
	return inner, stored, nil
}
