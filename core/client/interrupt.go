package client

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// What cancellations do in the process that runs the task: see cancel.go for the caller's side.

const (
	maxEarly = 10_000      // from so many on, cancellations whose tasks never came are forgotten
	earlyFor = time.Minute // after so long
)

// cancel ends a queued call, or interrupts the running one.
func (e *executor) cancel(q *wire.Cancel) {
	var id ids.Task
	copy(id[:], q.TaskID)
	c := e.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := e.find(id); k != nil { // its place in the queue stays: begin passes it over
		e.unqueued(k)
		e.unpark(k)
		e.dismiss(k)
		return
	}
	for token, k := range e.calls {
		if k.task == id {
			e.interrupt(token, k, q)
			return
		}
	}
	// It is still on its way through the other socket, or already answered.
	now := time.Now()
	if len(e.early) > maxEarly {
		for x, at := range e.early {
			if now.Sub(at) > earlyFor {
				delete(e.early, x)
			}
		}
	}
	e.early[id] = now
}

// dismiss answers a call that has not begun and will not; mu held.
func (e *executor) dismiss(k *call) {
	k.taken = true
	e.token++
	e.calls[e.token] = k
	e.busy++
	k.started = time.Now()
	e.answer(e.token, k, nil, wire.ReplyCancelled)
}

// interrupt cancels a running call: its program is told, or ended; mu held.
func (e *executor) interrupt(token uint64, k *call, q *wire.Cancel) {
	c := e.c
	if !k.cancel && k.stop != nil {
		close(k.stop)
	}
	k.cancel = true
	if k.feed != nil {
		k.feed.wake(e.c)
	}
	var children <-chan struct{}
	if q.Recursive {
		children = e.cancelChildren(token, q.Force)
	}
	if q.Force {
		go e.endByForce(token, k, children)
		return
	}
	e.canceled = append(e.canceled, k)
	if c.opts.Interrupt != nil {
		c.opts.Interrupt()
		e.insist(insistFirst)
	}
}

// CurrentCancelled returns a running task whose cancellation was asked, each once.
func (c *Client) CurrentCancelled() (id ids.Task, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exec == nil || len(c.exec.canceled) == 0 {
		return id, false
	}
	id = c.exec.canceled[0].task
	c.exec.canceled = c.exec.canceled[1:]
	return id, true
}

// Cancelled reports whether the cancellation of a running task was asked.
func (c *Client) Cancelled(id ids.Task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exec != nil {
		for _, k := range c.exec.calls {
			if k.task == id {
				return k.cancel
			}
		}
	}
	return false
}

// queueIndex finds calls that wait, by task. It is made when something is
// cancelled, and knows the calls that were pushed until then.
type queueIndex struct {
	calls map[ids.Task]*call
	upTo  int // of lane.pushed
}

// find returns the waiting call of a task, nil if there is none; mu held.
func (x *queueIndex) find(l *lane, id ids.Task) *call {
	fresh := min(l.pushed-x.upTo, len(l.queue))
	for _, k := range l.queue[len(l.queue)-fresh:] {
		if k.tmpl != nil && k.actor == nil {
			if x.calls == nil {
				x.calls = map[ids.Task]*call{}
			}
			x.calls[k.task] = k
		}
	}
	x.upTo = l.pushed
	k := x.calls[id]
	if k == nil || k.taken || k.in.Closed() {
		return nil
	}
	delete(x.calls, id)
	return k
}
