package raftstate

import (
	"errors"
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// putActor stores a changed actor and tells of it.
func (m *Machine) putActor(a *record.Actor) {
	m.releaseCode(a)
	if old := m.actors.Get(a.ID); old != nil && old.Blobs != a.Blobs {
		m.blobs.Remove(old.Blobs.List()...)
	}
	m.actors.Put(a)
	m.emit(record.Event{Kind: record.ActorEvent, Actor: a.Brief()})
}

// current returns the actor if it is live and the incarnation is its own.
func (m *Machine) current(id ids.Actor, incarnation uint64) (*record.Actor, Outcome) {
	a := m.actors.Get(id)
	switch {
	case a == nil:
		return nil, NotFound
	case !a.Live():
		return a, Dead
	case a.Incarnation != incarnation:
		return a, Stale
	}
	return a, Done
}

func (b *RegisterActor) kind() Kind      { return KindRegisterActor }
func (b *RegisterActor) subject() string { return b.Actor.String() }
func (b *RegisterActor) check() error {
	if b.Actor.Blobs != nil {
		return errors.New("it names large values, and nothing says that the heads have them")
	}
	return checkNew(&b.Actor)
}

func (b *RegisterActor) apply(m *Machine) Result { return m.register(b.Actor) }

func (b *ActorBlobs) kind() Kind                   { return KindActorBlobs }
func (b *ActorBlobs) subject() string              { return b.Actor.String() }
func (b *ActorBlobs) tickets() []record.BlobTicket { return b.Tickets }
func (b *ActorBlobs) check() error {
	list := b.Actor.Blobs.List()
	if len(list) == 0 || len(b.Tickets) != len(list) {
		return fmt.Errorf("%d tickets for %d large values", len(b.Tickets), len(list))
	}
	for _, x := range list {
		if err := x.Check(); err != nil {
			return err
		}
	}
	return checkNew(&b.Actor)
}

func (b *ActorBlobs) apply(m *Machine) Result { return m.register(b.Actor) }

// registered returns the record of an actor that a command is to add, nil if it adds none.
func registered(b Body) *record.Actor {
	switch b := b.(type) {
	case *RegisterActor:
		return &b.Actor
	case *ActorBlobs:
		return &b.Actor
	}
	return nil
}

func checkNew(a *record.Actor) error {
	if a.ID == (ids.Actor{}) {
		return errors.New("the actor has no id")
	}
	if a.MaxRestarts < -1 {
		return fmt.Errorf("max_restarts is %d, it must be -1 or more", a.MaxRestarts)
	}
	return nil
}

// register adds a PENDING actor.
func (m *Machine) register(a record.Actor) Result {
	if m.actors.Get(a.ID) != nil {
		return Result{Outcome: Exists}
	}
	if m.leaves(a.Job, a.Detached, a.Lasting) {
		return Result{Outcome: JobOver}
	}
	if a.Name != "" {
		if holder := m.actors.Named(a.Namespace, a.Name); holder != nil {
			return Result{Outcome: NameTaken, Actor: holder.ID}
		}
	}
	if err := m.blobs.Add(a.Blobs.List()...); err != nil {
		return Result{Outcome: unnamed(err)}
	}
	if !m.classes.Assign(a.ID, a.Code) {
		m.blobs.Remove(a.Blobs.List()...)
		return Result{Outcome: CodeLacks}
	}
	a.Ordinal = m.index
	a.State = record.ActorPending
	a.Incarnation = record.FirstIncarnation
	a.NumRestarts, a.Preempted, a.Released, a.Cause = 0, 0, false, record.Cause{}
	a.Node, a.Worker, a.Address, a.Pid = ids.Node{}, ids.Worker{}, "", 0
	a.StartedMs, a.EndedMs, a.LateRefs, a.Previous, a.Fence = 0, 0, false, record.Instance{}, record.Instance{}
	m.putActor(&a)
	return Result{}
}

func (b *ActorPlaced) kind() Kind      { return KindActorPlaced }
func (b *ActorPlaced) subject() string { return "actor " + b.Instance.Actor.String() }
func (b *ActorPlaced) check() error    { return nil }

func (b *ActorPlaced) apply(m *Machine) Result {
	a, o := m.current(b.Instance.Actor, b.Instance.Incarnation)
	if o == Done && a.State == record.ActorAlive {
		o = Stale
	}
	if n := m.nodes[b.Instance.Node]; o == Done && n != nil && n.State == record.NodeDead {
		o = NodeGone
	}
	if o != Done {
		return Result{Outcome: o}
	}
	next := *a
	next.Node, next.Fence = b.Instance.Node, record.Instance{}
	m.putActor(&next)
	return Result{}
}

func (b *ActorAlive) kind() Kind      { return KindActorAlive }
func (b *ActorAlive) subject() string { return "actor " + b.Instance.Actor.String() }
func (b *ActorAlive) check() error {
	if b.Instance.Worker == (ids.Worker{}) || b.Instance.Address == "" {
		return errors.New("the actor's worker or address is missing")
	}
	return nil
}

func (b *ActorAlive) apply(m *Machine) Result {
	i := b.Instance
	a, o := m.current(i.Actor, i.Incarnation)
	if o != Done {
		return Result{Outcome: o}
	}
	if a.State == record.ActorAlive {
		if a.Worker == i.Worker {
			return Result{}
		}
		return Result{Outcome: Stale}
	}
	next := *a
	next.State = record.ActorAlive
	next.Node, next.Worker, next.Address, next.Pid = i.Node, i.Worker, i.Address, i.Pid
	next.StartedMs, next.LateRefs = b.AtMs, i.LateRefs
	m.putActor(&next)
	return Result{}
}

func (b *ActorRestarting) kind() Kind      { return KindActorRestarting }
func (b *ActorRestarting) subject() string { return "actor " + b.ID.String() }
func (b *ActorRestarting) check() error    { return nil }

func (b *ActorRestarting) apply(m *Machine) Result {
	a, o := m.current(b.ID, b.Incarnation)
	if o != Done {
		return Result{Outcome: o}
	}
	next := *a
	next.State = record.ActorRestarting
	next.Previous = a.Instance()
	next.Node, next.Worker, next.Address, next.Pid = ids.Node{}, ids.Worker{}, "", 0
	next.StartedMs, next.LateRefs = 0, false
	if a.Exclusive && a.Node != (ids.Node{}) { // else an incarnation before this one may still run
		next.Fence = record.Instance{}
		if !b.Cause.Reason.ProcessGone() {
			next.Fence = a.Instance()
		}
	}
	next.Incarnation++
	next.NumRestarts++
	if n := m.nodes[a.Node]; b.Cause.Reason == record.NodeDied && n != nil && n.Preempted() {
		next.Preempted++
	}
	next.Cause = b.Cause
	m.putActor(&next)
	return Result{}
}

func (b *ActorDead) kind() Kind      { return KindActorDead }
func (b *ActorDead) subject() string { return "actor " + b.ID.String() }
func (b *ActorDead) check() error    { return nil }

func (b *ActorDead) apply(m *Machine) Result {
	a := m.actors.Get(b.ID)
	switch {
	case a == nil:
		return Result{Outcome: NotFound}
	case !a.Live():
		return Result{Outcome: Dead}
	case b.Incarnation != 0 && b.Incarnation != a.Incarnation:
		return Result{Outcome: Stale}
	}
	next := *a
	next.State = record.ActorDead
	next.Cause = b.Cause
	next.EndedMs = b.AtMs
	next.Spec, next.Meta, next.RunResources, next.Fallback, next.Home, next.Blobs = nil, nil, nil, nil, nil, nil
	m.putActor(&next)
	m.groupsLoseActor(next.ID, b.AtMs)
	m.endLeftJob(&next)
	var old ids.Actor
	var full bool
	if m.deadActors, old, full = appendBounded(m.deadActors, a.ID, keptDeadActors); full {
		m.actors.Forget(old)
	}
	return Result{}
}

func (b *ActorReleased) kind() Kind      { return KindActorReleased }
func (b *ActorReleased) subject() string { return "actor " + b.ID.String() }
func (b *ActorReleased) check() error    { return nil }

func (b *ActorReleased) apply(m *Machine) Result {
	a := m.actors.Get(b.ID)
	switch {
	case a == nil:
		return Result{Outcome: NotFound}
	case !a.Live():
		return Result{Outcome: Dead}
	case a.Detached || a.Released:
		return Result{}
	}
	next := *a
	next.Released = true
	m.putActor(&next)
	return Result{}
}
