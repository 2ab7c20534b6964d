package daemon

import (
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// PlaceActor queues an incarnation for a worker. The head calls it.
func (d *Daemon) PlaceActor(rec record.Actor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.actors[rec.ID]; old != nil && old.rec.Incarnation >= rec.Incarnation {
		return
	}
	d.place(&actor{rec: rec})
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
	k := sched.Class{Need: resource.FromWire(rec.Resources), Env: rec.EnvKey, Name: rec.ClassName, After: afterOf(rec.AfterMs)}
	for _, o := range rec.Fallback {
		k.Else = append(k.Else, sched.Choice{Need: resource.FromWire(o.Resources), Run: resource.FromWire(o.RunResources)})
	}
	d.afterBackoff(a, func() {
		d.event(func(m *sched.Machine) {
			m.PlaceActor(a.key(), rec.Job, k, resource.FromWire(rec.RunResources))
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
	delete(d.incarnations, a.key())
	replaced := a.replaced + 1
	if w.Reason() == wire.ExitDeclines { // the worker has not failed, and each worker declines once at most
		replaced = a.replaced
	}
	d.place(&actor{rec: a.rec, replaced: replaced})
	return true
}
