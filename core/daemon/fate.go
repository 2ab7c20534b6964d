package daemon

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/progress"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
)

// brokenFor is how long an incarnation whose caller has lost its connection may
// take to be found dead. Then only the connection broke.
const brokenFor = time.Second

// lostCall is a caller's question what became of the incarnation to which its
// connection broke. The daemon's lock guards it.
type lostCall struct {
	d      *Daemon
	c      *client
	m      *wire.Message
	key    sched.ActorID
	conn   uint32
	n      uint64 // in the caller's cancels
	done   bool
	timer  *time.Timer
	cancel func()
}

// actorLost serves TActorLost: it answers when the incarnation has ended and its process is gone.
func (d *Daemon) actorLost(c *client, m *wire.Message) {
	var q wire.ActorLost
	id, err := decodeActor(m, &q, &q.ActorID)
	if err != nil {
		_ = m.Fail(err)
		return
	}
	d.mu.Lock()
	c.lastResolve++
	k := &lostCall{d: d, c: c, m: m, key: sched.ActorID{Actor: id, Incarnation: q.Incarnation}, conn: q.Conn, n: c.lastResolve}
	d.mu.Unlock()
	cancel, err := d.head.Ended(id, q.Incarnation, k.ended)
	if errors.Is(err, record.ErrNotFound) {
		_ = m.Reply(forgottenFate(id))
		return
	}
	if err != nil {
		_ = m.Fail(err)
		return
	}
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
		k.cancel = cancel
		c.cancels[k.n] = k.drop
		if q.Incarnation != wire.ActorNever {
			k.timer = time.AfterFunc(brokenFor, k.look)
		}
	}
}

// drop ends the wait of a caller that is gone.
func (k *lostCall) drop() {
	k.d.mu.Lock()
	defer k.d.mu.Unlock()
	k.settle()
}

// settle notes that there is an answer; mu held.
func (k *lostCall) settle() {
	k.done = true
	delete(k.c.cancels, k.n)
	if k.timer != nil {
		k.timer.Stop()
	}
	if k.cancel != nil {
		go k.cancel()
	}
}

// ended: the head says so. The answer waits for the process.
func (k *lostCall) ended(r Resolution) {
	d := k.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if k.done {
		return
	}
	k.settle()
	if r.State == wire.ActorDead {
		_ = k.m.Reply(d.fateOf(&r.Actor))
		return
	}
	answer := func() {
		fate := wire.ActorFate{State: wire.ActorRestarting, Cause: string(r.Actor.Cause.Fault())}
		detail := r.Actor.Cause.Message
		if l := d.lives[k.key]; l != nil && l.over {
			fate.Started, fate.Known = l.numbers.Of(progress.Caller{Owner: k.c.self.Owner(), Conn: k.conn})
			if r.Actor.Cause.Reason == record.WorkerDied {
				detail = l.detail
			}
		}
		fate.Message = d.actorLines(&r.Actor, 0) + fmt.Sprintf("it restarts because %s", why(r.Actor.Cause.Reason, detail))
		_ = k.m.Reply(fate)
	}
	if l := d.lives[k.key]; l != nil && !l.over {
		l.heard = append(l.heard, answer)
		return
	}
	answer()
}

// look answers when the incarnation lives on; what was sent through the broken connection may have begun.
func (k *lostCall) look() {
	d := k.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if k.done {
		return
	}
	a := d.actors[k.key.Actor]
	if a == nil || a.rec.Incarnation != k.key.Incarnation || a.settled || a.worker == nil || !a.worker.Serves() {
		k.timer = time.AfterFunc(brokenFor, k.look)
		return
	}
	k.settle()
	_ = k.m.Reply(wire.ActorFate{State: wire.ActorAlive, Cause: string(fault.ActorUnavailable),
		Message: d.actorLines(&a.rec, a.worker.Pid()) + "the connection to it broke, it lives on"})
}

// actorLines name an actor in the form that errors about actors have.
func (d *Daemon) actorLines(a *record.Actor, pid int) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "\t%s: %s\n", name, strings.ReplaceAll(value, "\n", " "))
		}
	}
	line("class_name", a.ClassName)
	line("actor_id", a.ID.String())
	for _, p := range []int{pid, a.Pid, a.Previous.Pid} {
		if p != 0 {
			line("pid", fmt.Sprint(p))
			break
		}
	}
	line("name", a.Name)
	line("namespace", a.Namespace)
	line("ip", d.o.Address)
	return b.String()
}

// deadFate is what callers of a dead actor are told.
func (d *Daemon) deadFate(id ids.Actor) wire.ActorFate {
	a, err := d.head.Actor(id)
	if err != nil {
		return forgottenFate(id)
	}
	return d.fateOf(&a)
}

func (d *Daemon) fateOf(a *record.Actor) wire.ActorFate {
	return wire.ActorFate{State: wire.ActorDead, Cause: string(a.Cause.Fault()), Message: d.deathText(a), Error: a.Cause.Error}
}

// forgottenFate is that of an actor whose record is no longer kept.
func forgottenFate(id ids.Actor) wire.ActorFate {
	return wire.ActorFate{State: wire.ActorDead, Message: fmt.Sprintf("\tactor_id: %s\nThe actor is dead; it ended long ago.", id)}
}

// deathText names the actor and says how it ended.
func (d *Daemon) deathText(a *record.Actor) string {
	text := d.actorLines(a, 0) + "The actor is dead because " + why(a.Cause.Reason, a.Cause.Message) + "."
	if a.MaxRestarts > 0 && a.NumRestarts >= a.MaxRestarts && restartable(a.Cause.Reason) {
		text += fmt.Sprintf(" It was restarted as often as max_restarts allows, which is %d.", a.NumRestarts)
	}
	return text
}

// restartable reports whether an actor that ends like this comes again, if its max_restarts allow it.
func restartable(r record.Reason) bool {
	switch r {
	case record.WorkerDied, record.NodeDied, record.OutOfMemory, record.GPUMemory, record.Killed:
		return true
	}
	return false
}

// why says in words how an incarnation ended.
func why(r record.Reason, detail string) string {
	with := func(text string) string {
		if detail == "" {
			return text
		}
		return text + ": " + strings.TrimSuffix(detail, ".")
	}
	switch r {
	case record.Killed:
		return "it was killed by `ray.kill`"
	case record.Released:
		return "all references to it were removed"
	case record.WorkerDied:
		return with("its worker process has died")
	case record.Exited:
		return with("its worker process has ended on purpose")
	case record.OwnerDied:
		return with("its owner has died")
	case record.JobEnded:
		return with("its job has ended")
	case record.StartFailed:
		return with("it could not be started")
	case record.EnvFailed:
		return with("its runtime environment could not be made")
	case record.OutOfMemory:
		return with("its node ran out of memory")
	case record.GPUMemory:
		return with("it used more of a GPU's memory than it had asked for")
	case record.NodeDied:
		return with("its node has died")
	}
	return with(string(r))
}
