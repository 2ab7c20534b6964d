package client

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// cancelPatience is how long Cancel waits for a worker, or an owner, to have heard.
const cancelPatience = time.Second

// Cancel ends the task that returns the object. A finished one is left alone.
// The worker of a task that was sent hears of it soon. Of what another
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
		return fault.New(fault.BadRequest, "force=True is not possible for a call of an actor: use kill on the actor")
	}
	c.cancelTask(t, force, recursive, false)
	return nil
}

// cancelTask is Cancel for a task of ours; mu held on entry, not on return.
// It waits for nobody unless heard is wanted: of ten thousand tasks none costs a round trip.
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
	c.flush(&t.on.conn)
	q := wire.Cancel{TaskID: task[:], Force: force, Recursive: recursive}
	if heard {
		_ = c.tell(t.on.peerAddr, q, cancelPatience)
		return
	}
	c.withPeer(t.on.peerAddr, func(p *wire.Peer, err error) {
		if err == nil { // else its end will tell
			p.Go(wire.TCancel, q, func(*wire.Message, error) {})
		}
	})
	c.mu.Unlock()
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
