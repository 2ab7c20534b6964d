package head

import (
	"errors"
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// feed puts the state's events into the inbox.
func (h *Head) feed() {
	from := h.state.Now()
	for {
		batch, err := h.state.Watch(h.ctx, from)
		switch {
		case errors.Is(err, record.ErrCompacted):
			now := h.state.Now()
			from.Seq = now.Seq
			h.inbox.put(func() { h.resync(now.Seq) })
			continue
		case h.ctx.Err() != nil:
			return
		case err != nil:
			h.log.Error("the head follows the cluster state no more", "error", err)
			return
		}
		from = batch.Next
		h.inbox.put(func() { h.events(batch) })
	}
}

// events acts on a batch, on the head's goroutine.
func (h *Head) events(b record.Batch) {
	if h.follow(b.Leading) {
		// The state shows the events of this batch already, so resync covers them.
		h.resync(b.Next.Seq)
		return
	}
	for _, e := range b.Events {
		h.event(e)
	}
	h.progress(b.Next.Seq)
}

// follow notes whether this head leads. It reports whether that has changed.
func (h *Head) follow(leading bool) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if leading == h.leading {
		return false
	}
	h.leading = leading
	h.tracker.forgetPlaced()
	h.groupRows.forgetPlaced()
	return true
}

func (h *Head) event(e record.Event) {
	switch {
	case e.Actor != nil:
		var todo []action
		h.locked(func() { todo = h.tracker.actor(e.Actor, h.leading) })
		h.act(todo)
	case e.Lease != nil:
		h.keyLeases.event(e.Lease)
	case e.Group != nil:
		h.groupChanged(e.Group)
	case e.Node != nil && e.Node.State == record.NodeDead:
		if h.Leading() {
			h.endIncarnations(record.ActorFilter{Node: e.Node.ID}, nodeDied(e.Node), true)
			h.endJobsOf(map[ids.Node]*record.Node{e.Node.ID: e.Node})
		}
	case e.Job != nil && e.Job.State != record.JobRunning:
		if h.Leading() {
			h.endIncarnations(endsWith(e.Job), jobEnded(e.Job.ID), false)
		}
	}
}

// resync acts on the whole state as it is now, which shows all events up to seq.
func (h *Head) resync(seq uint64) {
	var all []record.Actor
	var leading bool
	var todo []action
	h.locked(func() {
		all, leading = h.state.ActorsOf(record.ActorFilter{}), h.leading
		todo = h.tracker.resync(all, leading)
	})
	h.keyLeases.follow(leading)
	h.act(todo)
	h.resyncGroups()
	if leading {
		h.endStranded(all)
	}
	h.progress(seq)
}

// endJobsOf ends the jobs whose drivers were on nodes that are dead. Their actors on other nodes end with them.
func (h *Head) endJobsOf(gone map[ids.Node]*record.Node) {
	for _, j := range h.state.ListJobs() {
		if n := gone[j.Node]; n != nil && j.State == record.JobRunning {
			why := fmt.Sprintf("the node of its driver is gone: %s", n.Reason)
			h.logLost("job ended", h.state.EndJob(h.ctx, j.ID, record.JobLost, why, h.nowMs()))
		}
	}
}

// endsWith says which actors end with a job whose driver is gone.
func endsWith(j *record.Job) record.ActorFilter {
	if j.Over() {
		return record.ActorFilter{Job: j.ID, Bound: true}
	}
	return record.ActorFilter{Job: j.ID, Passing: true}
}

// endStranded ends the actors whose job or node is gone, and the jobs whose node is gone. A leader that fell may have ended
// only some of them.
func (h *Head) endStranded(all []record.Actor) {
	ends := map[ids.Job]record.ActorFilter{}
	for _, j := range h.state.ListJobs() {
		if j.State != record.JobRunning {
			ends[j.ID] = endsWith(&j)
		}
	}
	gone := map[ids.Node]*record.Node{}
	for _, n := range h.state.ListNodes() {
		if n.State == record.NodeDead {
			gone[n.ID] = &n
		}
	}
	h.endJobsOf(gone)
	for i := range all {
		a := &all[i]
		with, left := ends[a.Job]
		switch {
		case !a.Live():
		case left && with.Match(a):
			h.endIncarnation(a, jobEnded(a.Job), false)
		case gone[a.Node] != nil:
			h.endIncarnation(a, nodeDied(gone[a.Node]), true)
		default:
			if why, is := h.withoutGroup(a); is {
				h.endIncarnation(a, why, false)
			}
		}
	}
}

func (h *Head) progress(seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handled, h.acted = max(h.handled, seq), h.leading
	if h.progressed != nil {
		close(h.progressed)
		h.progressed = nil
	}
}

// placeActor has an actor started, or ends it if the group in which it is to run is gone.
func (h *Head) placeActor(a record.Actor) {
	if why, is := h.withoutGroup(&a); is {
		h.endIncarnation(&a, why, false)
		return
	}
	h.placer.PlaceActor(a)
}

// act carries out the actions of the tracker. The lock is not held.
func (h *Head) act(todo []action) {
	for _, a := range todo {
		switch {
		case a.place != nil:
			// Events come without the creation frame.
			if full, ok := h.state.Actor(a.place.ID); ok && full.Live() && full.Incarnation == a.place.Incarnation {
				h.placeActor(full)
			}
		case a.stop != nil:
			h.placer.StopActor(*a.stop, a.how)
		case a.end != nil:
			h.endIncarnation(a.end, record.Cause{Reason: record.Released, Message: "all handles to it went before it could be placed"}, false)
		case a.tell != nil:
			a.tell.tell(a.as, nil)
		}
	}
}
