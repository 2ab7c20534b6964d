package submit

import (
	"github.com/eagleray/eagleray/core/internal/cancellation"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// eachTask calls f with every task that has no answer, with some of them twice.
func (c *Submitter) eachTask(f func(*Task)) {
	for _, k := range c.Classes {
		k.Queue.Each(f)
	}
	for _, l := range c.Leases {
		for _, t := range l.Lost {
			f(t)
		}
		if l.Channel != nil {
			for t := range l.Channel.sent.All() {
				f(t)
			}
		}
	}
	for _, a := range c.Actors {
		a.Queue.Each(f)
		for _, t := range a.Sent {
			f(t)
		}
		if a.Channel != nil {
			for t := range a.Channel.sent.All() {
				f(t)
			}
		}
	}
	for t := range c.Delayed {
		f(t)
	}
	c.table.Each(func(o *refs.Object) bool { // those that wait for arguments
		if t := TaskOf(o.Source()); t != nil {
			f(t)
		}
		for _, t := range o.Tasks() {
			f(TaskOf(t))
		}
		return true
	})
}

// ChildrenOf returns the tasks without an answer that a call has submitted.
func (c *Submitter) ChildrenOf(token uint64) []*Task {
	var list []*Task
	seen := map[*Task]bool{}
	c.eachTask(func(t *Task) {
		if t.parent == token && t.counted && !t.Canceled && !seen[t] {
			seen[t] = true
			list = append(list, t)
		}
	})
	return list
}

// CancelChild begins to cancel a task that a cancelled call has submitted. Calls of actors are never ended by force; mu held.
func (c *Submitter) CancelChild(t *Task, force bool) *cancellation.Cancellation {
	return c.CancelTask(t, force && t.actor == nil, true, true)
}
