package submit

import (
	"bytes"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/queue"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What a census says of the tasks that this process has submitted.

// mostLooked bounds how many objects are looked at while everybody else waits.
const mostLooked = 200_000

// state says where an unfinished task is, as its owner sees it. One that no node can run has failed for whoever asks for its results, although a
// node that comes later runs it.
func (t *Task) state() string {
	switch {
	case t.on != nil:
		return wire.TaskSubmitted
	case t.Waiting > 0:
		return wire.TaskWaitsForArguments
	case t.unschedulable():
		return wire.TaskFailed
	case t.actor != nil:
		return wire.TaskWaitsForActor
	}
	return wire.TaskWaitsForNode
}

// unschedulable reports whether no node can run a task that waits for one, or the actor that it is a call of.
func (t *Task) unschedulable() bool {
	if t.actor != nil {
		why := t.actor.Infeasible()
		return why != nil && why.Code == fault.ActorUnschedulable
	}
	k := t.Template.Class
	return k != nil && k.Bad != nil
}

// AddSource adds to a row of a census what an object comes from: its actor, or the task that makes it.
func (c *Submitter) AddSource(h *wire.Held, o *refs.Object) {
	if a := actorOf(o); a != nil {
		h.ActorID, h.Maker = bytes.Clone(a.ID[:]), a.Name()
	}
	if t := TaskOf(o.Source()); t != nil && !o.State().Ready() {
		h.TaskState, h.Attempt = t.state(), int(t.Tries)
	}
}

// AddTasks adds the tasks without an answer to a census. Site says where a result's reference was made; mu held.
func (c *Submitter) AddTasks(t *wire.ProcessCensus, limit int, site func(*refs.Object) string) {
	t.Open = c.Open - c.HiddenOpen()
	seen := map[*Task]bool{}
	add := func(x *Task) bool {
		if len(t.Tasks) >= limit {
			return false
		}
		if x.counted && !seen[x] && !x.Template.Hidden {
			seen[x] = true
			t.Tasks = append(t.Tasks, c.taskRow(x, site))
		}
		return true
	}
	for _, l := range c.Leases {
		if l.Channel != nil {
			addAll(&l.Channel.sent, add)
		}
	}
	for _, a := range c.Actors {
		if a.Channel != nil {
			addAll(&a.Channel.sent, add)
		}
		a.Queue.While(add)
	}
	for _, k := range c.Classes {
		k.Queue.While(add)
	}
	n := 0
	c.table.Each(func(o *refs.Object) bool { // those that wait for arguments are in no queue
		n++
		x := TaskOf(o.Source())
		return n < mostLooked && (x == nil || o.State().Ready() || add(x))
	})
}

func addAll(sent *queue.Window[Task], add func(*Task) bool) {
	for x := range sent.All() {
		if !add(x) {
			return
		}
	}
}

func (c *Submitter) taskRow(t *Task, site func(*refs.Object) string) wire.TaskRow {
	id := t.ID(c)
	r := wire.TaskRow{
		TaskID: bytes.Clone(id[:]), Name: t.Template.Name, Method: t.Template.Kind == frame.KindMethod, State: t.state(), Attempt: int(t.Tries), Resources: t.Template.Resources, GroupID: t.Template.GroupID(),
	}
	if t.actor != nil {
		r.ActorID = bytes.Clone(t.actor.ID[:])
	}
	if t.on != nil && t.on.Lease != nil {
		r.LeaseID = t.on.Lease.ID
	}
	c.eachReturn(t, func(_ int, o *refs.Object) {
		if r.Site == "" {
			r.Site = site(o)
		}
	})
	return r
}
