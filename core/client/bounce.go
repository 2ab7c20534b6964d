package client

import (
	"time"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/wire"
)

// bounce gives calls that have not started back to their caller.
func (in *inConn) bounce(ks []*call) {
	b, at := frame.BeginReturned(in.Buffer(), len(ks))
	for _, k := range ks {
		k.taken = true
		b = frame.AppendSeq(b, k.seq)
		delete(in.feeds, k.seq)
	}
	in.Queue(frame.End(b, at))
	in.Flush()
}

// bounceAll gives back every task of a lease that has not started.
func (e *executor) bounceAll() {
	back := map[*inConn][]*call{}
	keep := e.queue[:0]
	for _, k := range e.queue {
		if k.taken {
			continue
		}
		if k.in != nil && k.in.lease && k.tmpl != nil && !k.in.Closed() {
			back[k.in] = append(back[k.in], k)
		} else {
			keep = append(keep, k)
		}
	}
	clear(e.queue[len(keep):])
	e.queue = keep
	for in, ks := range back {
		in.bounce(ks)
	}
}

// patience is for how long a task runs before those behind it go back: twice
// as long as its like mostly do, within bounds.
func (e *executor) patience() time.Duration {
	if e.last == nil {
		return bounceAfter
	}
	return max(bounceAfter, min(2*e.last.usual, bounceAtMost))
}

// late reports whether the running task has taken longer than that.
func (e *executor) late() bool {
	return e.busy > 0 && time.Since(e.started) > e.patience()
}

// answersAtOnce reports whether tasks like the running one take so long that no
// answer waits for another.
func (e *executor) answersAtOnce() bool { return e.last != nil && e.last.usual > batchFor }

// overdue is how long it takes until the calls behind a long one go back, most
// when there are none.
func (e *executor) overdue(most time.Duration) time.Duration {
	if e.busy == 0 || len(e.queue) == 0 {
		return most
	}
	return max(0, e.patience()-time.Since(e.started))
}

func (e *executor) bounceOverdue() {
	if len(e.queue) > 0 && e.late() {
		e.bounceAll()
	}
}

// block: the running task waits for objects. Its CPUs are lent out and what
// is queued behind it goes back; mu held.
func (e *executor) block() {
	e.blocked++
	if e.lent {
		return
	}
	e.lent, e.lentAt = true, time.Now()
	e.bounceAll()
	e.tellBlocked(true)
	e.c.push(wire.TBlocked, nil)
}

// unblock: it goes on. A task that waits again within lentFor does not take
// its CPUs back: one that polls must not starve what it polls for.
func (e *executor) unblock() {
	e.blocked--
	if e.blocked > 0 {
		return
	}
	e.resumed = time.Now()
	if e.taker == nil {
		e.taker = time.AfterFunc(lentFor, e.takeBackLater)
	} else {
		e.taker.Reset(lentFor)
	}
}

func (e *executor) takeBackLater() {
	e.c.mu.Lock()
	defer e.c.mu.Unlock()
	if e.c.closed || !e.lent || e.blocked > 0 {
		return
	}
	if time.Since(e.resumed) >= lentFor { // else the task has waited again meanwhile, and unblock has set the timer anew
		e.takeBack()
	}
}

// takeBack ends the loan; mu held.
func (e *executor) takeBack() {
	e.lent = false
	e.tellBlocked(false)
	e.c.push(wire.TUnblocked, nil)
}

// lendsAtOnce reports whether a wait of the running task lends its CPUs from
// the start: a long task does so now and then, however short its waits are.
func (e *executor) lendsAtOnce(now time.Time) bool {
	return e.lent || now.Sub(e.started) > bounceAfter && now.Sub(e.lentAt) > lendEvery
}

// tellBlocked tells those who lease this worker that the running task waits, or goes on.
func (e *executor) tellBlocked(blocked bool) {
	for in := range e.conns {
		if !in.lease || in.Closed() {
			continue
		}
		in.Queue(frame.AppendBlocked(in.Buffer(), blocked))
		in.Flush()
	}
}
