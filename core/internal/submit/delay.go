package submit

import (
	"sort"
	"time"
)

// This file has the tasks that wait for a delay to pass before they run again.

// Again queues a task that is nowhere else after a delay, in front of the tasks
// that were submitted later. Cancelling the task ends the delay. A delay that
// takes long is reported to the user with the reason why; mu held.
func (c *Submitter) Again(t *Task, wait time.Duration, why string) {
	t.on = nil
	if wait <= 0 {
		c.Requeue(t)
		return
	}
	if c.Delayed == nil {
		c.Delayed = map[*Task]*Delay{}
	}
	now := time.Now()
	d := &Delay{since: now, until: now.Add(wait), why: why}
	c.Delayed[t] = d
	d.Timer = c.fx.After(wait, func() {
		if c.Delayed[t] == d {
			delete(c.Delayed, t)
			c.Requeue(t)
		}
	})
	c.watchPending()
}

// Undelay ends the delay of a task without queueing it, and reports whether there was one; mu held.
func (c *Submitter) Undelay(t *Task) bool {
	d := c.Delayed[t]
	if d == nil {
		return false
	}
	d.Timer.Stop()
	delete(c.Delayed, t)
	return true
}

// Requeue puts a task into the front of its class's queue. Cancelling a task
// calls undelay, so no cancelled task comes here; mu held.
func (c *Submitter) Requeue(t *Task) {
	if d := t.Bad(); d != nil {
		c.failLike(t, d)
		return
	}
	c.approach(t)
	k := t.Template.Class
	if k.Bad != nil {
		c.infeasible(t, k.Bad)
	}
	pushFront(&k.Queue, []*Task{t})
	c.pump(k)
}

// delayedTasks returns the tasks that have a delay, in the order of their submission; mu held.
func (c *Submitter) delayedTasks() []*Task {
	out := make([]*Task, 0, len(c.Delayed))
	for t := range c.Delayed {
		out = append(out, t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].First < out[j].First })
	return out
}
