package head

import (
	"context"
	"errors"
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// Reports say what daemons have seen happen. A report never blocks. Reports are kept in
// order and committed by the head's goroutine. A report about an incarnation that is not the
// current one is ignored.

func (h *Head) report(do func()) { h.inbox.put(do) }

// tooLate reports whether err says that the change came too late to matter.
func tooLate(err error) bool {
	return errors.Is(err, record.ErrDead) || errors.Is(err, record.ErrStale) || errors.Is(err, record.ErrNotFound)
}

// LostReports counts the reports that could not be committed, though they were in order. A sender who can repeat
// its reports compares the numbers from before them and from after AwaitReports.
func (h *Head) LostReports() uint64 { return h.lost.Load() }

// logLost logs the error of a report, because there is no caller who could be told.
func (h *Head) logLost(what string, err error) {
	if err == nil || tooLate(err) {
		return
	}
	if !errors.Is(err, record.ErrInvalid) {
		h.lost.Add(1)
	}
	if h.ctx.Err() == nil {
		h.log.Error("a report was lost", "report", what, "error", err)
	}
}

// ActorPlaced says which node starts the instance, so that NodeDied finds it.
func (h *Head) ActorPlaced(i record.Instance) {
	h.report(func() { h.logLost("actor placed", h.state.ActorPlaced(h.ctx, i)) })
}

// CommitPlaced is ActorPlaced for who has to know that it is committed before the node is told. The error is record.ErrNodeDead
// if the node is dead.
func (h *Head) CommitPlaced(ctx context.Context, i record.Instance) error {
	return h.state.ActorPlaced(ctx, i)
}

// ActorStarted says that the constructor returned and the address takes calls.
// An instance that nobody wants any more is stopped.
func (h *Head) ActorStarted(i record.Instance) {
	h.report(func() {
		err := h.state.ActorAlive(h.ctx, i, h.nowMs())
		if tooLate(err) {
			h.placer.StopActor(i, StopNow)
			return
		}
		h.logLost("actor started", err)
	})
}

// ActorKept says that a node has the instance, started or not. A node says it to a head that does not know what the head before
// has ordered. An instance that nobody wants any more is stopped: the order to stop it may have been lost with that head.
func (h *Head) ActorKept(i record.Instance) {
	h.report(func() {
		a, known := h.state.Actor(i.Actor)
		twin := known && a.State == record.ActorAlive && a.Incarnation == i.Incarnation && i.Worker != (ids.Worker{}) && a.Worker != i.Worker
		if !known || !a.Live() || a.Incarnation > i.Incarnation || twin {
			h.placer.StopActor(i, StopNow)
		}
	})
}

// ActorStartFailed says that the actor cannot start, for good: its constructor
// raised, its environment could not be made.
func (h *Head) ActorStartFailed(i record.Instance, c record.Cause) {
	h.ended(i, c, record.StartFailed, false)
}

// ActorWorkerDied says that the instance's process ended against its will,
// while it started too. The actor restarts while max_restarts allows.
func (h *Head) ActorWorkerDied(i record.Instance, c record.Cause) {
	h.ended(i, c, record.WorkerDied, true)
}

// ActorExited says that the instance ended on purpose: exit_actor(), or after
// StopDrain.
func (h *Head) ActorExited(i record.Instance, c record.Cause) {
	h.ended(i, c, "", false)
}

// ended ends the instance's incarnation.
func (h *Head) ended(i record.Instance, c record.Cause, reason record.Reason, mayRestart bool) {
	h.report(func() {
		a, ok := h.state.Actor(i.Actor)
		if !ok || !a.Live() || a.Incarnation != i.Incarnation {
			return
		}
		if a.State == record.ActorAlive && i.Worker != (ids.Worker{}) && a.Worker != i.Worker {
			return // a second worker of the same incarnation, which was stopped
		}
		if c.Reason == "" {
			c.Reason = reason
		}
		if c.Reason == "" {
			c.Reason = record.Exited
			if a.Released {
				c = record.Cause{Reason: record.Released, Message: "all handles to it went"}
			}
		}
		h.endIncarnation(&a, c, mayRestart)
	})
}

// endIncarnation ends the record's incarnation, on the head's goroutine.
func (h *Head) endIncarnation(a *record.Actor, c record.Cause, mayRestart bool) {
	h.logLost("actor ended", h.restart(h.ctx, a, c, mayRestart))
}

// ActorInfeasible says that no node could ever take the instance; the placer
// keeps trying. The callers that wait for the actor are told.
func (h *Head) ActorInfeasible(i record.Instance, message string) {
	if message == "" {
		message = "no node can take it"
	}
	h.setFeasible(i, message)
}

// ActorFeasible takes ActorInfeasible back; ActorStarted does too.
func (h *Head) ActorFeasible(i record.Instance) { h.setFeasible(i, "") }

func (h *Head) setFeasible(i record.Instance, message string) {
	h.report(func() {
		var todo []action
		h.locked(func() {
			if a, ok := h.state.Actor(i.Actor); ok {
				todo = h.tracker.infeasible(&a, i.Incarnation, message)
			}
		})
		h.act(todo)
	})
}

// ReleaseActor says that no handle to the actor is left. The actor ends once the
// calls that have arrived are done. An actor that is still being started starts
// first, because calls may be queued at its callers. Detached actors stay.
func (h *Head) ReleaseActor(id ids.Actor) {
	h.report(func() { h.logLost("actor released", h.state.ActorReleased(h.ctx, id)) })
}

// DropCode says that an actor whose class has begun to arrive will not be
// registered.
func (h *Head) DropCode(id ids.Actor) {
	h.report(func() { h.logLost("class not needed", h.state.DropCode(h.ctx, id)) })
}

// OwnerDied says that a process which has created actors is gone: they die, but
// for detached ones.
func (h *Head) OwnerDied(o ids.Owner) {
	if o == (ids.Owner{}) { // no process; a filter without an owner would match all actors
		return
	}
	h.report(func() {
		cause := record.Cause{Reason: record.OwnerDied, Message: fmt.Sprintf("its owner %s is gone", o)}
		h.endIncarnations(record.ActorFilter{Owner: o, Bound: true}, cause, false)
	})
}

// EndJob says that a job is over: its actors die, but for detached ones.
func (h *Head) EndJob(id ids.Job, s record.JobState, message string) {
	h.report(func() { h.logLost("job ended", h.state.EndJob(h.ctx, id, s, message, h.nowMs())) })
}

func jobEnded(id ids.Job) record.Cause {
	return record.Cause{Reason: record.JobEnded, Message: fmt.Sprintf("its job %s has ended", id)}
}

// NodeDied says that a machine's daemon is gone: its actors restart elsewhere
// while max_restarts allows.
func (h *Head) NodeDied(id ids.Node, reason string) {
	h.report(func() { h.logLost("node died", h.state.NodeDead(h.ctx, id, reason, h.nowMs())) })
}

func nodeDied(n *record.Node) record.Cause {
	return record.Cause{Reason: record.NodeDied, Message: fmt.Sprintf("its node %s is gone: %s", n.ID, n.Reason)}
}

// endIncarnations ends the live actors that match.
func (h *Head) endIncarnations(which record.ActorFilter, c record.Cause, mayRestart bool) {
	which.Live = true
	list := h.state.ActorsOf(which)
	for i := range list {
		h.endIncarnation(&list[i], c, mayRestart)
	}
}
