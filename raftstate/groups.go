package raftstate

import (
	"context"
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// GroupCreate adds a PENDING placement group.
type GroupCreate struct {
	Group record.Group `msgpack:"group"`
}

// GroupPlaced notes the nodes that have set the bundles of a group aside. Epoch is that of the record for which they were found.
type GroupPlaced struct {
	ID    ids.Group  `msgpack:"id"`
	Epoch uint64     `msgpack:"epoch"`
	Nodes []ids.Node `msgpack:"nodes"`
	AtMs  int64      `msgpack:"at"`
}

// GroupRemove ends a placement group.
type GroupRemove struct {
	ID   ids.Group `msgpack:"id"`
	Why  string    `msgpack:"why"`
	AtMs int64     `msgpack:"at"`
}

// tellGroup tells of a change of a group, and says what came of the command.
func (m *Machine) tellGroup(g *record.Group, err error) Result {
	if g != nil {
		m.emit(record.Event{Kind: record.GroupEvent, Group: g})
	}
	switch err {
	case nil:
		return Result{}
	case record.ErrNotFound:
		return Result{Outcome: NotFound}
	case record.ErrExists:
		return Result{Outcome: Exists}
	case record.ErrNameTaken:
		return Result{Outcome: NameTaken}
	case record.ErrDead:
		return Result{Outcome: Dead}
	case record.ErrStale:
		return Result{Outcome: Stale}
	}
	return Result{Outcome: Invalid}
}

func (b *GroupCreate) kind() Kind      { return KindGroupCreate }
func (b *GroupCreate) subject() string { return b.Group.String() }
func (b *GroupCreate) check() error    { return b.Group.Check() }

func (b *GroupCreate) apply(m *Machine) Result {
	if m.leaves(b.Group.Job, b.Group.Detached, b.Group.Lasting) {
		return Result{Outcome: JobOver}
	}
	if a := m.actors.Get(b.Group.Actor); a != nil && !a.Live() && !b.Group.Detached {
		return Result{Outcome: Dead} // the actor that makes it has died meanwhile
	}
	g := b.Group
	g.Infeasible = ""
	return m.tellGroup(m.groups.Add(g, m.index))
}

func (b *GroupPlaced) kind() Kind      { return KindGroupPlaced }
func (b *GroupPlaced) subject() string { return "placement group " + b.ID.String() }
func (b *GroupPlaced) check() error    { return nil }

func (b *GroupPlaced) apply(m *Machine) Result {
	// Whether the group waits at all comes first: who hears NodeGone takes back what the nodes have set aside.
	if err := m.groups.Awaits(b.ID, b.Epoch, len(b.Nodes)); err != nil {
		return m.tellGroup(nil, err)
	}
	for _, id := range b.Nodes {
		if n := m.nodes[id]; n == nil || n.State == record.NodeDead {
			return Result{Outcome: NodeGone}
		}
	}
	return m.tellGroup(m.groups.Place(b.ID, b.Epoch, b.Nodes, b.AtMs))
}

func (b *GroupRemove) kind() Kind      { return KindGroupRemove }
func (b *GroupRemove) subject() string { return "placement group " + b.ID.String() }
func (b *GroupRemove) check() error    { return nil }

func (b *GroupRemove) apply(m *Machine) Result {
	return m.tellGroup(m.groups.Remove(b.ID, b.Why, b.AtMs))
}

// groupsLoseNode has other nodes be found for the bundles of a node that has died.
func (m *Machine) groupsLoseNode(id ids.Node) {
	for _, g := range m.groups.LoseNode(id) {
		m.tellGroup(g, nil)
	}
}

// groupsLoseActor removes the groups of an actor that has died.
func (m *Machine) groupsLoseActor(id ids.Actor, atMs int64) {
	for _, g := range m.groups.OfActor(id) {
		if !g.Detached {
			m.tellGroup(m.groups.Remove(g.ID, fmt.Sprintf("the actor %s, which had made it, is dead", id), atMs))
		}
	}
}

// groupsLoseJob removes the groups that end with a job which is over, or with its driver.
func (m *Machine) groupsLoseJob(j *record.Job) {
	for _, g := range m.groups.OfJob(j.ID) {
		if m.leaves(g.Job, g.Detached, g.Lasting) {
			m.tellGroup(m.groups.Remove(g.ID, fmt.Sprintf("the job %s, which had made it, has ended", j.ID), j.EndedMs))
		}
	}
}

// Group returns a placement group's record.
func (m *Machine) Group(id ids.Group) (record.Group, bool) { return deref(m.groups.Get(id)) }

// GroupNamed returns the live placement group with the name.
func (m *Machine) GroupNamed(namespace, group string) (record.Group, bool) {
	return deref(m.groups.Named(namespace, group))
}

// ListGroups returns all placement groups in the order in which they were made.
func (m *Machine) ListGroups() []record.Group {
	var list []record.Group
	for _, g := range m.groups.All() {
		list = append(list, *g)
	}
	return list
}

// CreateGroup adds a PENDING placement group.
func (x Changes) CreateGroup(ctx context.Context, g record.Group) error {
	return x.do(ctx, &GroupCreate{g})
}

// PlaceGroup notes the nodes that have set the bundles of a group aside.
func (x Changes) PlaceGroup(ctx context.Context, id ids.Group, epoch uint64, nodes []ids.Node, atMs int64) error {
	return x.do(ctx, &GroupPlaced{id, epoch, nodes, atMs})
}

// RemoveGroup ends a placement group. It is no error if it was removed before.
func (x Changes) RemoveGroup(ctx context.Context, id ids.Group, why string, atMs int64) error {
	return x.do(ctx, &GroupRemove{id, why, atMs})
}

// Group returns a placement group's record.
func (n *Node) Group(id ids.Group) (g record.Group, ok bool) {
	n.fsm.view(func(m *Machine) { g, ok = m.Group(id) })
	return g, ok
}

// GroupNamed returns the live placement group with the name.
func (n *Node) GroupNamed(namespace, group string) (g record.Group, ok bool) {
	n.fsm.view(func(m *Machine) { g, ok = m.GroupNamed(namespace, group) })
	return g, ok
}

// ListGroups returns all placement groups in the order in which they were made.
func (n *Node) ListGroups() (list []record.Group) {
	n.fsm.view(func(m *Machine) { list = m.ListGroups() })
	return list
}
