package client

import (
	"time"

	"github.com/eagleray/eagleray/core/refs"
)

// A task knows the call that submitted it. Recursive cancellation ends the tasks
// that the cancelled call has submitted, and no task of other calls in the process.

// NoParent as Call.Parent says that no running call submits the task.
const NoParent = ^uint64(0)

// parent returns the call that a submission belongs to: the one that the
// program names, else the task that runs, whose thread it then is. An actor's
// threads may be older than its calls, and are nobody's; mu held.
func (c *Client) parent(named uint64) uint64 {
	switch {
	case named == NoParent:
		return 0
	case named != 0 || c.exec == nil:
		return named
	}
	return c.exec.OnlyTask()
}

// eachTask calls f with every task that has no answer, with some of them twice.
func (c *submitter) eachTask(f func(*task)) {
	for _, k := range c.classes {
		k.queue.each(f)
	}
	for _, l := range c.leases {
		for _, t := range l.lost {
			f(t)
		}
		if l.conn != nil {
			for t := range l.conn.sent.all() {
				f(t)
			}
		}
	}
	for _, a := range c.actors {
		a.queue.each(f)
		for _, t := range a.sent {
			f(t)
		}
		if a.conn != nil {
			for t := range a.conn.sent.all() {
				f(t)
			}
		}
	}
	for t := range c.delayed {
		f(t)
	}
	c.table.Each(func(o *refs.Object) bool { // those that wait for arguments
		if t := taskOf(o.Source()); t != nil {
			f(t)
		}
		for _, t := range o.Tasks() {
			f(taskOf(t))
		}
		return true
	})
}

// childrenOf returns the tasks without an answer that a call has submitted.
func (c *submitter) childrenOf(token uint64) []*task {
	var list []*task
	seen := map[*task]bool{}
	c.eachTask(func(t *task) {
		if t.parent == token && t.counted && !t.canceled && !seen[t] {
			seen[t] = true
			list = append(list, t)
		}
	})
	return list
}

// cancelChildren cancels everything that a call has submitted. The answer is
// closed when all workers concerned have heard, or had their time; mu held.
func (c *Client) cancelChildren(token uint64, force bool) <-chan struct{} {
	done := make(chan struct{})
	list := c.childrenOf(token)
	if len(list) == 0 {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		var sent []*cancellation
		for _, t := range list {
			c.mu.Lock()
			if !c.closed {
				if k := c.cancelTask(t, force && t.actor == nil, true, true); k != nil {
					sent = append(sent, k)
				}
			}
			c.mu.Unlock()
		}
		end := time.Now().Add(cancelPatience)
		for _, k := range sent {
			_ = k.await(time.Until(end))
		}
	}()
	return done
}
