package client

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// cancelPatience is how long Cancel waits for a worker, or an owner, to have heard.
const cancelPatience = time.Second

// burst tells one cancellation, for which its worker is waited, from thousands
// in a row, of which not each is to cost a round trip.
type burst struct {
	last time.Time
	n    int
}

// A burst begins after so many in a row, each within so long a time of the one before.
const (
	burstAfter = 50
	burstGap   = 100 * time.Millisecond
)

// few counts a cancellation; true: it is no part of a burst.
func (b *burst) few(now time.Time) bool {
	if now.Sub(b.last) > burstGap {
		b.n = 0
	}
	b.last = now
	b.n++
	return b.n <= burstAfter
}

// How often, and after which time, a worker is told again that could not be reached.
const (
	cancelTries = 20
	cancelAgain = 25 * time.Millisecond
)

// Cancel ends the task that returns the object. A finished one is left alone.
// When the task was sent, its worker has heard of it on return, unless many are cancelled in a row. Of what another
// process has submitted, be it gone and only its heir left, that one is asked.
func (c *Client) Cancel(id ids.Object, force, recursive bool) error {
	c.mu.Lock()
	o, err := c.find(id)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	if o.State.Ready() {
		c.mu.Unlock()
		return nil
	}
	if !o.Owned() {
		q := wire.Cancel{ObjectID: raw(id), Force: force, Recursive: recursive}
		return c.tell(o.OwnerAddr, q, 2*cancelPatience) // it waits, too
	}
	t, ok := o.Producer.(*task)
	if !ok {
		c.mu.Unlock()
		return nil
	}
	if t.actor != nil && force {
		c.mu.Unlock()
		return fault.New(fault.BadRequest, "force=True is not supported for calls of actors: use kill on the actor")
	}
	c.cancelTask(t, force, recursive, c.cancels.few(time.Now()))
	return nil
}

// cancelTask is Cancel for a task of ours; mu held on entry, not on return.
// It waits for nobody unless heard is wanted.
func (c *Client) cancelTask(t *task, force, recursive bool, heard bool) {
	if !t.counted { // answered meanwhile
		c.mu.Unlock()
		return
	}
	t.canceled = true
	if t.on == nil {
		c.takeOut(t)
		c.mu.Unlock()
		return
	}
	if force {
		c.ensureEnded(t)
	}
	task := t.id(c)
	t.on.Flush()
	q := wire.Cancel{TaskID: task[:], Force: force, Recursive: recursive}
	if heard {
		_ = c.tell(t.on.peerAddr, q, cancelPatience)
		return
	}
	c.sendCancel(t, q, cancelTries)
	c.mu.Unlock()
}

// sendCancel tells the worker of a task that was sent. One that cannot be reached has ended, most
// likely, and its end tells; if it lives it is told again; mu held.
func (c *Client) sendCancel(t *task, q wire.Cancel, left int) {
	on := t.on
	failed := func() {
		if left == 0 {
			return
		}
		time.AfterFunc(cancelAgain, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !c.closed && t.counted && t.on == on && !on.Closed() {
				c.sendCancel(t, q, left-1)
			}
		})
	}
	c.withPeer(on.peerAddr, func(p *wire.Peer, err error) {
		if err != nil {
			failed()
			return
		}
		p.Go(wire.TCancel, q, func(_ *wire.Message, err error) {
			if err != nil {
				failed()
			}
		})
	})
}

// takeOut ends a cancelled task that was not sent; mu held.
func (c *Client) takeOut(t *task) {
	a := t.actor
	if a != nil {
		if !a.queue.remove(t) {
			a.forgetSent(t)
		}
	} else if !c.undelay(t) && t.tmpl.class.queue.remove(t) {
		c.adjustWant(t.tmpl.class)
	}
	c.failTask(t, cancelFault(t))
	if a != nil {
		c.pumpActor(a) // those behind it may have waited for its arguments
	}
}

// tell sends a cancellation to another process and waits until it was heard.
// Of a process that has ended there is nothing to say; mu held on entry, not on return.
func (c *Client) tell(addr string, q wire.Cancel, patience time.Duration) error {
	heard := make(chan error, 1)
	c.withPeer(addr, func(p *wire.Peer, err error) {
		if err != nil {
			heard <- nil // its end will tell
			return
		}
		p.Go(wire.TCancel, q, func(_ *wire.Message, err error) { heard <- err })
	})
	c.mu.Unlock()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case err := <-heard:
		if fault.CodeOf(err) == fault.BadRequest {
			return err
		}
	case <-limit.C:
	}
	return nil
}

// canceling serves a cancellation that another process asks for: of a task that
// this one runs, or of one that it has submitted.
func (c *Client) canceling(q *wire.Cancel, m *wire.Message) {
	if len(q.ObjectID) == 0 {
		if c.exec != nil {
			c.exec.cancel(q)
		}
		_ = m.Reply(nil)
		return
	}
	id, err := ids.ParseObject(q.ObjectID)
	if err != nil {
		_ = m.Fail(fault.New(fault.BadRequest, "%v", err))
		return
	}
	go func() { // it waits for the worker of the task
		if err := c.Cancel(id, q.Force, q.Recursive); err != nil && fault.CodeOf(err) == fault.BadRequest {
			_ = m.Fail(err)
			return
		}
		_ = m.Reply(nil) // an object that is gone needs no cancelling
	}()
}
