package client

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// cancelPatience is how long Cancel waits for a worker, or an owner, to have heard.
const cancelPatience = time.Second

// burst counts cancellations. The caller of a single one waits until the worker has
// heard of it. Of thousands in a row not each shall cost a round trip.
type burst struct {
	last time.Time
	n    int
}

// A burst begins after so many cancellations in a row, each within so long of the one before.
const (
	burstAfter = 50
	burstGap   = 100 * time.Millisecond
)

// few counts a cancellation, and reports whether it is no part of a burst.
func (b *burst) few(now time.Time) bool {
	if now.Sub(b.last) > burstGap {
		b.n = 0
	}
	b.last = now
	b.n++
	return b.n <= burstAfter
}

// Cancel ends the task that returns the object. It leaves a finished task alone. When
// the task was sent, its worker has heard of the cancellation when Cancel returns, unless many
// tasks are cancelled in a row. When another process has submitted the task, that process or its
// successor is asked.
func (c *Client) Cancel(id ids.Object, force, recursive bool) error {
	c.mu.Lock()
	o, err := c.find(id)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	k, patience, err := c.cancelObject(o, force, recursive, time.Now())
	owned := o.Owned()
	c.mu.Unlock()
	if k == nil {
		return err
	}
	if err = k.await(patience); owned { // only an owner refuses: a worker that does not understand ends the wait
		return nil
	}
	return err
}

// cancelObject begins to cancel the task that returns an object. The caller waits for the
// cancellation for at most the patience; nil: there is nothing to wait for.
func (c *submitter) cancelObject(o *refs.Object, force, recursive bool, now time.Time) (k *cancellation, patience time.Duration, err error) {
	if o.State().Ready() {
		return nil, 0, nil
	}
	if !o.Owned() {
		q := wire.Cancel{ObjectID: raw(o.ID), Force: force, Recursive: recursive}
		k := &cancellation{c: c, addr: o.OwnerAddr(), q: q, what: fmt.Sprintf("the task of object %s", o.ID), heard: make(chan error, 1), wanted: func() bool {
			return c.table.Find(o.ID) == o && !o.State().Ready()
		}}
		k.send()
		return k, 2 * cancelPatience, nil // the owner waits, too
	}
	t := taskOf(o.Source())
	if t == nil {
		return nil, 0, nil
	}
	if t.actor != nil && force {
		return nil, 0, fault.New(fault.BadRequest, "force=True is not supported for calls of actors: use kill on the actor")
	}
	return c.cancelTask(t, force, recursive, c.cancels.few(now)), cancelPatience, nil
}

// cancelTask begins to cancel a task of ours. It returns the cancellation that its worker
// is sent when heard is wanted and the task was sent.
func (c *submitter) cancelTask(t *task, force, recursive bool, heard bool) *cancellation {
	if !t.counted { // answered meanwhile
		return nil
	}
	t.canceled = true
	if t.on == nil {
		c.takeOut(t)
		return nil
	}
	if force {
		c.ensureEnded(t)
	}
	task := t.id(c)
	t.on.Flush()
	q := wire.Cancel{TaskID: task[:], Force: force, Recursive: recursive}
	on := t.on
	k := &cancellation{c: c, addr: on.peerAddr, q: q, what: "task " + t.tmpl.Name, wanted: func() bool {
		return t.counted && t.on == on && !on.Closed()
	}}
	if !heard {
		k.send()
		return nil
	}
	k.heard = make(chan error, 1)
	k.send()
	return k
}

// takeOut ends a cancelled task that was not sent.
func (c *submitter) takeOut(t *task) {
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

// canceling serves a cancellation that another process asks for. The task runs
// in this process, or was submitted by it.
func (c *Client) canceling(q *wire.Cancel, m *wire.Message) {
	if len(q.ObjectID) == 0 {
		if c.exec != nil {
			c.mu.Lock()
			c.exec.Cancel(q)
			c.mu.Unlock()
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

// cancelFault is what a cancelled task fails with.
func cancelFault(t *task) *fault.Error {
	return fault.New(fault.TaskCancelled, "task %s was cancelled", t.tmpl.Name)
}
