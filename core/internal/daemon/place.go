package daemon

import (
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// PlaceActor queues an incarnation for a worker. The head calls it. In a cluster the order has a ticket: when the incarnation has what
// it needs the ticket is settled, or the incarnation is refused. Ticket 0 is that of a head without other nodes.
func (d *Daemon) PlaceActor(rec record.Actor, ticket uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch old := d.actors[rec.ID]; {
	case old == nil || old.rec.Incarnation < rec.Incarnation:
		if old != nil && !old.endReported { // the order to stop it may have been lost with the head's process
			d.stop(old, false)
		}
		d.host(&actor{rec: rec, ticket: ticket})
	case old.rec.Incarnation == rec.Incarnation && ticket != 0: // another process of the head repeats the order
		old.ticket = ticket
		if !old.asks && !d.m.RenewActor(old.key(), ticket) {
			d.overflow.ActorTaken(ticket, d.m)
		}
	}
}

// WithdrawActor refuses an incarnation that the head has ordered and that waits for resources. The head calls it.
func (d *Daemon) WithdrawActor(i record.Instance, ticket uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.actors[i.Actor]
	if a == nil || a.rec.Incarnation != i.Incarnation || a.ticket != ticket {
		return
	}
	withdrawn := a.asks
	d.event(func(m *sched.Machine) { withdrawn = withdrawn || m.WithdrawActor(a.key()) })
	if withdrawn {
		d.refuseActor(a)
	} else {
		d.overflow.ActorTaken(ticket, d.m)
	}
}

// refuseActor says that this node does not start an incarnation, and forgets it; mu held.
func (d *Daemon) refuseActor(a *actor) {
	delete(d.actors, a.rec.ID)
	d.overflow.ActorRefused(a.instance(), a.ticket, d.m)
	if j := d.jobs[a.rec.Job]; j != nil {
		d.endVisit(j)
	}
}

// place queues an incarnation; mu held.
func (d *Daemon) place(a *actor) {
	rec := &a.rec
	d.actors[rec.ID] = a
	j := d.jobs[rec.Job]
	if d.actorOver(j, rec) {
		delete(d.actors, rec.ID)
		delete(d.failedStarts, rec.ID)
		d.head.ActorStartFailed(a.instance(), record.Cause{Reason: record.JobEnded, Message: "its job has ended"})
		return
	}
	j.detached = j.detached || rec.Detached
	where, _ := strategy.Parse(rec.Strategy) // the node of its creator has checked it
	here := strategy.Strategy{Labels: where.Labels}
	if where.Busy == strategy.Fails { // which node it is, the head decides for all others
		here = where
	}
	k := sched.Class{Need: resource.FromWire(rec.Resources), Env: rec.EnvKey, Name: rec.ClassName, After: afterOf(rec.AfterMs), Strategy: here}
	for _, o := range rec.Fallback {
		k.Else = append(k.Else, sched.Choice{Need: resource.FromWire(o.Resources), Run: resource.FromWire(o.RunResources)})
	}
	d.afterBackoff(a, func() {
		d.event(func(m *sched.Machine) {
			m.PlaceActor(a.key(), rec.Job, k, resource.FromWire(rec.RunResources), a.ticket)
			if j.ended {
				m.RemoveJob(rec.Job) // so that no worker but the actor's is started for the job
			}
		})
	})
}

// maxReplacements is how many workers of an actor may end in a row before they have begun
// its creation. The end of the next one counts as the actor's end.
const maxReplacements = 10

// replace gives an actor another worker, as the same incarnation, if its worker ended
// before it had begun the actor's creation: for example an idle worker that somebody had
// killed, which the daemon did not know yet. That costs no restart. It reports whether
// the actor gets another worker; mu held.
func (d *Daemon) replace(a *actor, w *worker) bool {
	if a.creating || a.endReported || a.drains || w.Excess().Text != "" || a.replaced >= maxReplacements {
		return false
	}
	if d.actorOver(w.job, &a.rec) {
		return false
	}
	d.ends.Drop(a.endID())
	replaced := a.replaced + 1
	if w.Reason() == wire.ExitDeclines { // the worker has not failed, and each worker declines once at most
		replaced = a.replaced
	}
	d.place(&actor{rec: a.rec, replaced: replaced}) // its ticket is settled
	return true
}
