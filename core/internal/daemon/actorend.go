package daemon

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/actorends"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
)

// StopActor ends an incarnation. The head calls it.
func (d *Daemon) StopActor(i record.Instance, drain bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.actors[i.Actor]; a != nil && a.rec.Incarnation == i.Incarnation {
		d.stop(a, drain)
	}
}

// stop ends an incarnation; mu held.
func (d *Daemon) stop(a *actor, drain bool) {
	w := a.worker
	switch {
	case w == nil:
		delete(d.actors, a.rec.ID)
		delete(d.failedStarts, a.rec.ID)
		d.event(func(m *sched.Machine) { m.CancelActor(a.key()) })
		d.incarnationGone(&a.rec)
		if j := d.jobs[a.rec.Job]; j != nil {
			d.endVisit(j)
		}
	case drain:
		a.drains = true
		if p := w.Peer(); p != nil {
			_ = p.Push(wire.TActorStop, nil)
		}
	default:
		d.endNow(a)
	}
}

// Actors returns the incarnations whose ends nobody has reported yet, with the node and their workers.
func (d *Daemon) Actors() []record.Instance {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []record.Instance
	for _, a := range d.actors {
		if a.endReported {
			continue
		}
		i := a.instance()
		if i.Node = d.o.Node; a.worker != nil {
			i.Worker = a.worker.self
		}
		all = append(all, i)
	}
	return all
}

// EndActor ends an incarnation at once, and calls gone on another goroutine when its process is gone, also if there is none.
func (d *Daemon) EndActor(i record.Instance, gone func()) {
	d.StopActor(i, false)
	d.ends.Await(actorends.ID{Actor: i.Actor, Incarnation: i.Incarnation}, progress.Caller{}, func(actorends.End) { go gone() })
}

// endNow kills the worker of an actor. As under Ray, neither exit handlers nor the rest of
// a call run any more; mu held.
func (d *Daemon) endNow(a *actor) {
	w := a.worker
	a.endReported = true
	delete(d.failedStarts, a.rec.ID)
	d.event(func(m *sched.Machine) { m.Leaving(w.id) })
	if w.Reason() == "" {
		w.SetReason(wire.ExitEnded)
	}
	if a.creating || w.Peer() == nil {
		d.table.Kill(w.Worker)
		return
	}
	// The worker has not said that it has become the actor. It may be declining, because
	// others need what it owns: then it ends by itself, when that has moved.
	d.table.EndUnlessNeeded(w.Worker, exitGrace)
}

// actorEnded handles the end of an actor's worker; mu held.
func (d *Daemon) actorEnded(w *worker, end workers.End) {
	a := w.actor
	if d.actors[a.rec.ID] == a {
		delete(d.actors, a.rec.ID)
	}
	if d.replace(a, w) {
		return
	}
	if len(a.rec.Code) > 0 {
		d.trimmer.Soon()
	}
	d.ends.End(a.endID(), end.Detail)
	d.incarnationGone(&a.rec)
	if a.endReported {
		return
	}
	a.endReported = true
	switch {
	case end.Code != "":
		if !a.rec.MayRestart() {
			delete(d.failedStarts, a.rec.ID)
		}
		d.head.ActorWorkerDied(d.located(a), record.Cause{Reason: reasonOf(end.Code), Message: end.Detail})
	case a.drains || w.Reason() != "" && w.Reason() != wire.ExitForced: // the daemon does not cancel actors by force, so the actor did not choose that end
		delete(d.failedStarts, a.rec.ID)
		d.head.ActorExited(d.located(a), record.Cause{Message: w.Reason()})
	default: // also with status 0: the worker ended without saying that it would
		d.noteFailedStart(a)
		d.head.ActorWorkerDied(d.located(a), record.Cause{Message: end.Detail})
	}
}

// reasonOf returns why an actor ended whose worker was ended for its memory.
func reasonOf(excess fault.Code) record.Reason {
	if excess == fault.OutOfMemory {
		return record.OutOfMemory
	}
	return record.GPUMemory
}

// actorFailed tells the head that an actor that waits gets no worker; mu held.
func (d *Daemon) actorFailed(a sched.ActorFailed) {
	x := d.actors[a.Actor.Actor]
	if x == nil || x.rec.Incarnation != a.Actor.Incarnation {
		return
	}
	reason := record.EnvFailed
	if a.Busy {
		reason = record.NodeBusy
	} else if a.Code == fault.ActorUnschedulable && x.ticket != 0 { // the head knows what other nodes have
		d.event(func(m *sched.Machine) { m.CancelActor(a.Actor) })
		d.refuseActor(x)
		return
	} else if a.Code == fault.ActorUnschedulable {
		d.head.ActorInfeasible(x.instance(), a.Message)
		return
	}
	delete(d.actors, x.rec.ID)
	delete(d.failedStarts, x.rec.ID)
	d.incarnationGone(&x.rec)
	d.head.ActorStartFailed(x.instance(), record.Cause{Reason: reason, Message: a.Message})
}
