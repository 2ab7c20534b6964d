package actorends

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/deathtext"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// DeathWait is how long the cluster may take to find out that an incarnation is dead, after a caller has lost its
// connection to it. After that only the connection was lost.
const DeathWait = time.Second

// What is what a process wants that asks for an actor's end.
const What = "learn of the end of an actor"

// Question is that of a caller that has lost its connection to an incarnation: has the incarnation ended, and which calls had it begun?
type Question struct {
	e      *Ends
	head   Head
	m      *wire.Message
	id     ID
	caller progress.Caller
	over   func()

	mu     sync.Mutex
	done   bool // the answer is given, or will be when the process is gone; or nobody wants it any more
	timer  *time.Timer
	cancel func() bool // ends the wait for the head
}

// Ask answers a message when the incarnation has ended and its process is gone, or when the incarnation lives on. Over is called once, when
// Cancel has nothing more to end; perhaps before Ask returns.
func (e *Ends) Ask(head Head, m *wire.Message, id ID, caller progress.Caller, over func()) *Question {
	q := &Question{e: e, head: head, m: m, id: id, caller: caller, over: over}
	q.begin(head.Ended(id.Actor, id.Incarnation, q.ended))
	return q
}

// begin notes how the wait for the head is ended, and has the incarnation looked for in a while.
func (q *Question) begin(cancel func() bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.done {
		return
	}
	q.cancel = cancel
	if q.id.Incarnation != wire.ActorNever {
		q.timer = time.AfterFunc(DeathWait, q.look)
	}
}

// Done reports whether Cancel has nothing more to end.
func (q *Question) Done() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.done
}

// Cancel ends the question of a caller that is gone.
func (q *Question) Cancel() { q.finish(true) }

// finish notes that there is an answer, or that nobody wants one. It reports false if that was so before. Stop says that the
// head has not answered, so its answer need not be waited for any more.
func (q *Question) finish(stop bool) bool {
	first, cancel := q.end()
	if first && stop && cancel != nil {
		cancel()
	}
	if first {
		q.over()
	}
	return first
}

func (q *Question) end() (first bool, cancel func() bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.done {
		return false, nil
	}
	q.done = true
	if q.timer != nil {
		q.timer.Stop()
	}
	return true, q.cancel
}

// ended is called when the head says that the incarnation has ended. The answer waits until its process is gone. The
// error says why the head will not tell.
func (q *Question) ended(r record.Resolution, err error) {
	if !q.finish(false) {
		return
	}
	switch {
	case errors.Is(err, record.ErrNotFound):
		_ = q.m.Reply(deathtext.Forgotten(q.id.Actor))
	case err != nil:
		_ = q.m.Fail(inquiry.Unanswered(What, inquiry.Patience, err))
	case r.State == record.ActorDead:
		_ = q.m.Reply(deathtext.Reply(&r.Actor, q.e.o.Address(&r.Actor)))
	default:
		i := r.Actor.Previous
		if i.Incarnation != q.id.Incarnation { // later ones have ended, too
			i = record.Instance{Actor: q.id.Actor, Incarnation: q.id.Incarnation}
		}
		q.e.when(i, q.caller, func(x End) { q.restarts(&r.Actor, x) })
	}
}

// restarts answers about an incarnation that another one follows.
func (q *Question) restarts(a *record.Actor, x End) {
	detail := a.Cause.Message
	if a.Cause.Reason == record.WorkerDied && x.Detail != "" {
		detail = x.Detail
	}
	_ = q.m.Reply(wire.ActorDeath{
		State: wire.ActorRestarting, Cause: string(a.Cause.Fault()), Known: x.Known, Started: x.Started,
		Message: deathtext.Lines(a, 0, q.e.o.Address(a)) + fmt.Sprintf("it restarts because %s", deathtext.Cause(a.Cause.Reason, detail)),
	})
}

// look answers if the incarnation lives on. What was sent through the lost connection may have begun.
func (q *Question) look() {
	if q.Done() {
		return
	}
	if pid, alive := q.e.o.Alive(q.id); alive {
		q.livesOn(nil, pid)
		return
	}
	if q.e.o.Network == nil {
		q.lookAgain()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), inquiry.Patience)
	defer cancel()
	a, err := q.head.Actor(ctx, q.id.Actor)
	node := nodeOf(a.Instance())
	if err != nil || a.State != record.ActorAlive || a.Incarnation != q.id.Incarnation || node == 0 || node == q.e.o.Node {
		q.lookAgain()
		return
	}
	q.e.ask(node, q.id, q.caller, false, func(x *linkmsg.ActorEnd) {
		if x != nil && x.Alive {
			q.livesOn(&a, x.Pid)
		} else {
			q.lookAgain()
		}
	})
}

// lookAgain looks once more in a while.
func (q *Question) lookAgain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.done {
		q.timer = time.AfterFunc(DeathWait, q.look)
	}
}

// livesOn answers that only the connection broke. The record is nil if it has to be asked for.
func (q *Question) livesOn(a *record.Actor, pid int) {
	if a == nil {
		ctx, cancel := context.WithTimeout(context.Background(), inquiry.Patience)
		defer cancel()
		found, err := q.head.Actor(ctx, q.id.Actor)
		if err != nil {
			found = record.Actor{ID: q.id.Actor}
		}
		a = &found
	}
	if q.finish(true) {
		_ = q.m.Reply(wire.ActorDeath{State: wire.ActorAlive, Cause: string(fault.ActorUnavailable),
			Message: deathtext.Lines(a, pid, q.e.o.Address(a)) + "the connection to it broke, it lives on"})
	}
}
