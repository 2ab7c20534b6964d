package grouptable

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// name is a group's name in its namespace.
type name struct{ namespace, name string }

// Table has the records of placement groups, those of removed ones too.
type Table struct {
	all     map[ids.Group]*record.Group
	names   map[name]ids.Group // of live groups
	byJob   sets[ids.Job]      // the same
	byActor sets[ids.Actor]    // the same
	byNode  sets[ids.Node]     // of those with bundles there
	removed []ids.Group        // those that are kept, the oldest first
}

// New returns an empty table.
func New() *Table {
	return &Table{all: map[ids.Group]*record.Group{}, names: map[name]ids.Group{}, byJob: sets[ids.Job]{}, byActor: sets[ids.Actor]{}, byNode: sets[ids.Node]{}}
}

// Clone returns a copy for All and Get, which does not change with the table. It finds nothing by anything but an id.
func (t *Table) Clone() *Table {
	return &Table{all: maps.Clone(t.all), removed: slices.Clone(t.removed)}
}

// Get returns a group's record, nil if there is none.
func (t *Table) Get(id ids.Group) *record.Group { return t.all[id] }

// Named returns the live group with the name, nil if there is none.
func (t *Table) Named(namespace, group string) *record.Group {
	id, ok := t.names[name{namespace, group}]
	if !ok {
		return nil
	}
	return t.all[id]
}

// Put stores the record of a new group, or a new record of one that is there.
func (t *Table) Put(g *record.Group) {
	t.index(t.all[g.ID], false)
	t.all[g.ID] = g
	t.index(g, true)
}

// forget drops the record of a group that was removed.
func (t *Table) forget(id ids.Group) { delete(t.all, id) }

// index enters a live group where it is found, or takes it out there.
func (t *Table) index(g *record.Group, enter bool) {
	if g == nil || !g.Live() {
		return
	}
	if g.Name != "" {
		if at := (name{g.Namespace, g.Name}); enter {
			t.names[at] = g.ID
		} else {
			delete(t.names, at)
		}
	}
	t.byJob.set(g.Job, g.ID, enter)
	t.byActor.set(g.Actor, g.ID, enter)
	for _, n := range g.Nodes {
		t.byNode.set(n, g.ID, enter)
	}
}

// All returns the records of all groups in the order in which they were made.
func (t *Table) All() []*record.Group { return inOrder(slices.Collect(maps.Values(t.all))) }

// ByID returns the records of all groups in the order of their ids.
func (t *Table) ByID() []*record.Group {
	return slices.SortedFunc(maps.Values(t.all), func(a, b *record.Group) int { return bytes.Compare(a.ID[:], b.ID[:]) })
}

// OfJob returns the live groups of a job, in order.
func (t *Table) OfJob(id ids.Job) []*record.Group { return t.of(t.byJob[id]) }

// OfActor returns the live groups that an actor has made, in order.
func (t *Table) OfActor(id ids.Actor) []*record.Group { return t.of(t.byActor[id]) }

func (t *Table) of(set map[ids.Group]struct{}) []*record.Group {
	list := make([]*record.Group, 0, len(set))
	for id := range set {
		list = append(list, t.all[id])
	}
	return inOrder(list)
}

func inOrder(list []*record.Group) []*record.Group {
	slices.SortFunc(list, func(a, b *record.Group) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return list
}

// sets are sets of groups by a key. The zero key stands for none, and has no set.
type sets[K comparable] map[K]map[ids.Group]struct{}

func (s sets[K]) set(k K, id ids.Group, enter bool) {
	var none K
	switch {
	case k == none:
	case enter:
		if s[k] == nil {
			s[k] = map[ids.Group]struct{}{}
		}
		s[k][id] = struct{}{}
	default:
		delete(s[k], id)
		if len(s[k]) == 0 {
			delete(s, k)
		}
	}
}
