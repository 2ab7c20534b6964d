package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/deathtext"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// deathWait is how long the daemon may take to find out that an incarnation is dead, after a
// caller has lost its connection to it. After that only the connection was lost.
const deathWait = time.Second

// learnOfEnd is what a process wants that asks for an actor's end.
const learnOfEnd = "learn of the end of an actor"

// lostCall is the question of a caller that has lost its connection to an incarnation: has
// the incarnation ended, and which calls had it begun? The daemon's lock guards it.
type lostCall struct {
	d      *Daemon
	c      *client
	m      *wire.Message
	key    sched.ActorID
	conn   uint32
	n      uint64 // its key in the caller's cancels
	done   bool
	timer  *time.Timer
	cancel func()
}

// actorLost serves TActorLost. The answer is sent when the incarnation has ended and its
// process is gone, or when the incarnation lives on.
func (d *Daemon) actorLost(_ context.Context, c *client, m *wire.Message) error {
	var q wire.ActorLost
	id, err := decodeActor(m, &q, &q.ActorID)
	if err != nil {
		return err
	}
	k := &lostCall{d: d, c: c, m: m, key: sched.ActorID{Actor: id, Incarnation: q.Incarnation}, conn: q.Conn, n: d.nextQuestion(c)}
	cancel := d.head.Ended(id, q.Incarnation, k.ended)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case k.done:
	case c.gone:
		k.done = true
		go cancel()
	default:
		if c.cancels == nil {
			c.cancels = make(map[uint64]func())
		}
		k.cancel = func() { cancel() }
		c.cancels[k.n] = k.drop
		if q.Incarnation != wire.ActorNever {
			k.timer = time.AfterFunc(deathWait, k.look)
		}
	}
	return nil
}

// drop ends the question of a caller that is gone.
func (k *lostCall) drop() {
	k.d.mu.Lock()
	defer k.d.mu.Unlock()
	k.finish()
}

// finish notes that the question needs no answer any more; mu held.
func (k *lostCall) finish() {
	k.done = true
	delete(k.c.cancels, k.n)
	if k.timer != nil {
		k.timer.Stop()
	}
	if k.cancel != nil {
		go k.cancel()
	}
}

// ended is called when the head says that the incarnation has ended. The answer waits
// until its process is gone. The error says why the head will not tell.
func (k *lostCall) ended(r record.Resolution, err error) {
	d := k.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if k.done {
		return
	}
	k.finish()
	switch {
	case errors.Is(err, record.ErrNotFound):
		_ = k.m.Reply(deathtext.Forgotten(k.key.Actor))
		return
	case err != nil:
		_ = k.m.Fail(inquiry.Unanswered(learnOfEnd, inquiry.Patience, err))
		return
	case r.State == record.ActorDead:
		_ = k.m.Reply(deathtext.Reply(&r.Actor, d.o.Address))
		return
	}
	answer := func() {
		reply := wire.ActorDeath{State: wire.ActorRestarting, Cause: string(r.Actor.Cause.Fault())}
		detail := r.Actor.Cause.Message
		if l := d.incarnations[k.key]; l != nil && l.ended {
			reply.Started, reply.Known = l.numbers.Of(progress.Caller{Owner: k.c.self.Owner(), Conn: k.conn})
			if r.Actor.Cause.Reason == record.WorkerDied {
				detail = l.detail
			}
		}
		reply.Message = deathtext.Lines(&r.Actor, 0, d.o.Address) + fmt.Sprintf("it restarts because %s", deathtext.Cause(r.Actor.Cause.Reason, detail))
		_ = k.m.Reply(reply)
	}
	if l := d.incarnations[k.key]; l != nil && !l.ended {
		l.waiting = append(l.waiting, answer)
		return
	}
	answer()
}

// look answers if the incarnation lives on. What was sent through the lost connection may
// have begun.
func (k *lostCall) look() {
	d := k.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if k.done {
		return
	}
	a := d.actors[k.key.Actor]
	if a == nil || a.rec.Incarnation != k.key.Incarnation || a.endReported || a.worker == nil || !a.worker.Serves() {
		k.timer = time.AfterFunc(deathWait, k.look)
		return
	}
	k.finish()
	_ = k.m.Reply(wire.ActorDeath{State: wire.ActorAlive, Cause: string(fault.ActorUnavailable),
		Message: deathtext.Lines(&a.rec, a.worker.Pid(), d.o.Address) + "the connection to it broke, it lives on"})
}
