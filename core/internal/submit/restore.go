package submit

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/arguments"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Restored is a Submitter that was restored from a snapshot. Nothing of it runs before Resume.
type Restored struct {
	c        *Submitter
	s        *snapshot.Submitter
	tms      []*Template // templates, tasks and channels in the order of the snapshot
	tasks    []*Task
	channels []*Channel
}

// Restore makes an empty Submitter what another one was, whose snapshot this is. The
// reference table, which has the objects of the snapshot already, is told what the
// tasks take and make. The snapshot is validated first, because it comes from a process
// whose memory may be corrupt. The session opens the Channels and then calls Resume.
func (c *Submitter) Restore(s *snapshot.Submitter) (*Restored, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	r := &Restored{c: c, s: s}
	for _, part := range []func() error{r.templates, r.allTasks, r.actors, r.recipes, r.checkChannels, r.homes, r.lost} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	r.allChannels()
	r.joinRuns()
	return r, nil
}

// Channels returns the channels in the order of the snapshot. They have no Pipe yet.
func (r *Restored) Channels() []*Channel { return r.channels }

// templates restores the templates with their scheduling classes, and takes back what
// the other process has asked the daemon for.
func (r *Restored) templates() error {
	for i := range r.s.Templates {
		tm := templates.Restored[Class](&r.s.Templates[i])
		if err := r.c.restoreTemplate(tm, r.s.Templates[i].Class); err != nil {
			return err
		}
		r.tms = append(r.tms, tm)
	}
	for id := range r.c.Classes {
		r.c.fx.Push(wire.TLeaseWant, wire.LeaseWant{ClassID: id})
	}
	return nil
}

// allTasks restores the tasks without an answer.
func (r *Restored) allTasks() error {
	for i := range r.s.Tasks {
		x := &r.s.Tasks[i]
		t, err := r.task(x, r.tms[x.Template])
		if err != nil {
			return err
		}
		r.c.Count(t)
		r.tasks = append(r.tasks, t)
	}
	return nil
}

// task restores a task. It pins the objects that the task takes.
func (r *Restored) task(x *snapshot.Task, tm *Template) (*Task, error) {
	c := r.c
	t := taskWithout(x, tm)
	t.Seq, t.Canceled, t.aside = x.Seq, x.Canceled, len(x.Aside) > 0
	var err error
	if t.Arguments, err = arguments.Restore(x, c.table); err != nil {
		return nil, fmt.Errorf("restore what a task of %s takes: %w", tm.Name, err)
	}
	if tm.Flow.Mode != 0 {
		t.Generator = c.Generators.Restore(t, t.First, tm.Flow.Mode, generators.Facts{Items: x.Items, Ahead: x.Ahead, GoOn: x.GoOn, Again: x.Again, Makes: x.Makes})
	}
	c.eachReturn(t, func(_ int, o *refs.Object) {
		if o.State() == refs.Pending && !slices.Contains(c.table.Unverified(), o) {
			o.SetSource(t)
		}
	})
	if x.Place != snapshot.PlaceWaiting {
		return t, nil
	}
	for _, o := range t.Awaited() {
		c.waitFor(t, o)
	}
	return t, nil
}

// taskWithout returns the task of a snapshot, without what it takes.
func taskWithout(x *snapshot.Task, tm *Template) *Task {
	return &Task{
		Template: tm, First: x.First, Returns: x.Returns, fmt: x.Format, stored: x.Stored,
		Attempts: retry.Attempts{Tries: x.Tries, Crashes: x.Crashes, OOMs: x.OOMs, Misses: x.Misses},
	}
}

// actors restores the actors, each with its calls in their order.
func (r *Restored) actors() error {
	for i := range r.s.Actors {
		if err := r.actor(&r.s.Actors[i]); err != nil {
			return fmt.Errorf("restore actor %s: %w", r.s.Actors[i].Name, err)
		}
	}
	return nil
}

func (r *Restored) actor(x *snapshot.Actor) error {
	c := r.c
	a := c.addActor(ids.Actor(x.ID), x.Name, x.Limit)
	a.grouped = x.Grouped
	token, err := arguments.Named(x.Token, c.table)
	if err != nil {
		return err
	}
	if err := a.Restore(x, token); err != nil {
		return err
	}
	for _, n := range x.Calls {
		t := r.tasks[n]
		r.call(a, t)
		if r.s.Tasks[n].Place == snapshot.PlaceLost {
			a.Sent = append(a.Sent, t)
		} else {
			a.Queue.push(t)
		}
	}
	if b := x.Creation; b != nil {
		tm := templates.Restored[Class](&b.Template)
		t, err := r.task(&b.Task, tm)
		if err != nil {
			return err
		}
		a.RestoreCreation(b, &constructor{c, t, tm})
	}
	return nil
}

// call makes a task a call of an actor.
func (r *Restored) call(a *Actor, t *Task) {
	t.actor = a
	a.Pending++
	a.HoldCall()
}

// checkChannels refuses channels of leases that cannot be, before there is a channel: one
// without a Pipe must not be met by the end of the session.
func (r *Restored) checkChannels() error {
	for i := range r.s.Channels {
		x := &r.s.Channels[i]
		if len(x.ActorID) > 0 {
			continue
		}
		if err := r.checkLease(x.LeaseID, x.Class, x.Choice); err != nil {
			return err
		}
	}
	return nil
}

// checkLease refuses a lease of a class or a choice that does not exist.
func (r *Restored) checkLease(lease uint64, class uint32, choice int) error {
	switch k := r.c.Classes[class]; {
	case k == nil:
		return fmt.Errorf("restore lease %d: its class %d is not part of the snapshot", lease, class)
	case choice < 0 || choice >= len(k.Paces):
		return fmt.Errorf("restore lease %d: its class has no choice %d", lease, choice)
	}
	return nil
}

// allChannels restores the channels, with the calls that were sent on them.
func (r *Restored) allChannels() {
	c := r.c
	for i := range r.s.Channels {
		x := &r.s.Channels[i]
		o := NewChannel(c, x.Addr)
		o.seq, o.number = x.Seq, x.Number
		for _, group := range x.Filled {
			o.fill(group)
		}
		if len(x.ActorID) > 0 {
			o.Actor = c.Actors[ids.Actor(x.ActorID)]
			o.Actor.Channel = o
		} else { // the daemon counts a lease that was moved as recalled: it gets no more tasks
			k := c.Classes[x.Class]
			o.Lease = &Lease{ID: x.LeaseID, Node: c.away(x.LeaseID), Class: k, Channel: o, Busy: len(x.Tasks), Recall: true, Choice: x.Choice}
			if e := x.End; e != nil && o.Lease.Node != 0 {
				o.Lease.Broken, o.Lease.Detail, o.Lease.Code, o.Lease.Held, o.Lease.Begun, o.Lease.Known, o.Lease.NodeLost = true, e.Detail, fault.Code(e.Code), e.Held, e.Begun, e.Known, e.NodeLost
			}
			c.Leases[x.LeaseID] = o.Lease
			k.Leases = append(k.Leases, o.Lease)
		}
		for _, n := range x.Tasks {
			t := r.tasks[n]
			t.on = o
			o.sent.Add(t.Seq, t)
			if o.Actor != nil {
				r.call(o.Actor, t)
			}
			o.count(1)
		}
		r.channels = append(r.channels, o)
	}
}

// Resume sets everything going. Leases are those that the daemon has by now: some may
// have been granted or broken since the snapshot.
func (r *Restored) Resume(leases []uint64) {
	c := r.c
	for _, a := range c.actorsInOrder() {
		if !a.Resume() {
			continue
		}
		if a.Sent != nil {
			a.Resolve()
		}
		c.pumpActor(a)
	}
	for i, t := range r.tasks {
		if (t.actor == nil || t.aside) && r.s.Tasks[i].Place == snapshot.PlaceWaiting && t.Waiting == 0 {
			c.begin(t)
		}
	}
	r.compare(leases)
}

// compare brings the leases of the own node in line with those that its daemon has. The daemons of other nodes have been
// heard without a gap.
func (r *Restored) compare(leases []uint64) {
	c := r.c
	for _, id := range leases {
		if c.Leases[id] == nil {
			c.fx.Push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: id})
		}
	}
	for id, l := range c.Leases {
		if l.Node == 0 && !slices.Contains(leases, id) {
			c.LeaseBroken(&wire.LeaseBroken{LeaseID: id, Detail: "the worker is gone"})
		}
	}
}
