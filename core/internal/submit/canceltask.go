package submit

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/cancellation"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// CancelPatience is how long Cancel waits for a worker, or an owner, to have heard.
const CancelPatience = time.Second

// CancelObject begins to cancel the task that returns an object. The caller waits for the
// cancellation for at most the patience; nil: there is nothing to wait for.
func (c *Submitter) CancelObject(o *refs.Object, force, recursive bool, now time.Time) (k *cancellation.Cancellation, patience time.Duration, err error) {
	if o.State().Ready() {
		return nil, 0, nil
	}
	if !o.Owned() {
		q := wire.Cancel{ObjectID: idBytes(o.ID), Force: force, Recursive: recursive}
		k := c.outbox.Send(o.OwnerAddr(), q, fmt.Sprintf("the task of object %s", o.ID), true, func() bool {
			return c.table.Find(o.ID) == o && !o.State().Ready()
		})
		return k, 2 * CancelPatience, nil // the owner waits, too
	}
	t := TaskOf(o.Source())
	if t == nil {
		return nil, 0, nil
	}
	if t.actor != nil && force {
		return nil, 0, fault.New(fault.BadRequest, "force=True is not supported for calls of actors: use kill on the actor")
	}
	return c.CancelTask(t, force, recursive, c.Cancels.Few(now)), CancelPatience, nil
}

// CancelTask begins to cancel a task of ours. It returns the cancellation that its worker
// is sent when heard is wanted and the task was sent.
func (c *Submitter) CancelTask(t *Task, force, recursive bool, heard bool) *cancellation.Cancellation {
	if !t.counted { // answered meanwhile
		return nil
	}
	t.Canceled = true
	if t.on == nil {
		c.takeOut(t)
		return nil
	}
	if force {
		c.ensureEnded(t)
	}
	task := t.ID(c)
	t.on.Flush()
	q := wire.Cancel{TaskID: task[:], Force: force, Recursive: recursive}
	on := t.on
	k := c.outbox.Send(on.addr, q, "task "+t.Template.Name, heard, func() bool {
		return t.counted && t.on == on && !on.Closed()
	})
	if !heard {
		return nil
	}
	return k
}

// takeOut ends a cancelled task that was not sent.
func (c *Submitter) takeOut(t *Task) {
	a := t.actor
	if a != nil {
		if !a.Queue.Remove(t) {
			a.forgetSent(t)
		}
	} else if !c.Undelay(t) && t.LeaveQueue() {
		c.AdjustWant(t.Template.Class)
	}
	c.FailTask(t, cancelFault(t))
	if a != nil {
		c.pumpActor(a) // those behind it may have waited for its arguments
	}
}
