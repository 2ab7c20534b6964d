package client

import (
	"time"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// Nobody gets the exception of a task that runs again, or that was cancelled
// meanwhile. References inside the exception are held by the worker, which is
// told to let go of them. The worker must hear this before the next run begins
// there, because both runs have the same id, and after what it hears about
// earlier runs: it takes each message for the oldest run that it still holds
// references for. A large exception lies in the store, and is freed before the
// next run begins, because that run may write to the same place.

// discarding is a task whose exception is being cleared away. The fields say
// what is still to be done; next does it.
type discarding struct {
	c      *submitter
	t      *task
	id     ids.Task
	worker string // the socket of the worker that raised it
	stored bool   // it lies in the store
	inner  bool   // there are references inside
	wait   time.Duration
}

// discard reads the n results of a run that nobody gets, and clears them away.
// Then the task runs again after the delay, unless it was cancelled. That may
// be before discard returns; mu held.
func (c *submitter) discard(r *wire.Reader, n int, t *task, o *outConn, wait time.Duration) {
	inner, stored, err := skipResults(r, n)
	if err != nil {
		inner, stored = false, false
	}
	d := &discarding{c: c, t: t, id: t.id(c), worker: o.peerAddr, stored: stored, inner: inner, wait: wait}
	c.limbo++
	d.next()
}

// next begins the next step; mu held. The answer to each step calls it again.
func (d *discarding) next() {
	c := d.c
	switch {
	case c.closed:
		c.limbo--
	case d.stored:
		d.stored = false
		c.freeWritten(d.t)
		// The daemon answers this after it has freed them.
		c.fx.Request(wire.TObjStats, nil, func(*wire.Message, error) { d.next() })
	case d.inner:
		d.inner = false
		c.table.AwaitRegistered(wait.Calling(func() {
			if !c.closed {
				d.letGo()
			}
		}))
	default:
		c.limbo--
		if d.t.counted && !d.t.canceled { // otherwise it has ended
			c.runAgain(d.t, d.wait)
		}
	}
}

// letGo tells the worker to let go of the references inside the results. All of
// them are registered here by now, because other results may refer to the same
// objects; mu held.
func (d *discarding) letGo() {
	d.c.fx.Tell(d.worker, wire.TReceived, wire.Received{TaskID: d.id[:]}, func(error) { d.next() })
}

// runAgain queues a task that has raised an exception; mu held.
func (c *submitter) runAgain(t *task, wait time.Duration) {
	if a := t.actor; a != nil {
		a.queue.pushFront([]*task{t})
		c.pumpActor(a)
		return
	}
	if wait > 0 {
		c.again(t, wait, "it raised an exception")
		return
	}
	t.tmpl.class.queue.push(t)
	c.pump(t.tmpl.class)
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
