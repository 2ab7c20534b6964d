package submit

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Nobody gets the exception of a task that runs again, or that was cancelled
// meanwhile. References inside the exception are held by the worker, which is
// told to let go of them, as it is told of an answer that somebody gets. A large
// exception lies in the store, and is freed before the next run begins, because
// that run may write to the same place.

// discard reads the answer of a run that nobody gets, and clears its results away.
// Then the task runs again after the delay, unless it was cancelled. That may
// be before discard returns; mu held.
func (c *Submitter) discard(r *wire.Reader, x *frame.Reply, t *Task, o *Channel, wait time.Duration) {
	stored, err := skipResults(r, x.Results)
	if err != nil {
		stored = false
	}
	c.receipt(o.addr, x.Held)
	d := &discarding{c: c, t: t, stored: stored, wait: wait}
	c.Unqueued++
	d.next()
}

// next begins the next step; mu held. The answer to each step calls it again.
func (d *discarding) next() {
	c := d.c
	switch {
	case c.closed:
		c.Unqueued--
	case d.stored:
		d.stored = false
		c.freeWritten(d.t)
		// The daemon answers this after it has freed them.
		c.fx.Request(wire.TObjStats, nil, func(*wire.Message, error) { d.next() })
	default:
		c.Unqueued--
		if d.t.counted && !d.t.Canceled { // otherwise it has ended
			c.runAgain(d.t, d.wait)
		}
	}
}

// runAgain queues a task that has raised an exception; mu held.
func (c *Submitter) runAgain(t *Task, wait time.Duration) {
	if a := t.actor; a != nil {
		a.Queue.pushFront([]*Task{t})
		c.pumpActor(a)
		return
	}
	if wait > 0 {
		c.Again(t, wait, "it raised an exception")
		return
	}
	push(&t.Template.Class.Queue, t)
	c.pump(t.Template.Class)
}

// skipResults reads n results that nobody gets. It reports whether one of them lies in the store.
func skipResults(r *wire.Reader, n int) (stored bool, err error) {
	for range n {
		x, err := frame.ReadResult(r)
		if err != nil {
			return stored, err
		}
		stored = stored || x.Place != wire.PlaceInline
		for range x.Contained {
			if _, _, err := frame.ReadContained(r); err != nil {
				return stored, err
			}
		}
	}
	return stored, nil
}
