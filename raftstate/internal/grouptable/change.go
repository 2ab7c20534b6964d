package grouptable

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// keptRemoved is how many removed groups are kept. The oldest are forgotten first.
const keptRemoved = 1_000

// Add makes a group, as the ordinal-th change of the state. The error is record.ErrExists or record.ErrNameTaken.
func (t *Table) Add(g record.Group, ordinal uint64) (*record.Group, error) {
	switch {
	case t.all[g.ID] != nil:
		return nil, record.ErrExists
	case g.Name != "" && t.Named(g.Namespace, g.Name) != nil:
		return nil, record.ErrNameTaken
	}
	g.Ordinal, g.State, g.Epoch = ordinal, record.GroupPending, 1
	g.Nodes, g.PlacedMs, g.EndedMs, g.Why = nil, 0, 0, ""
	t.Put(&g)
	return &g, nil
}

// Awaits reports whether a group waits for the nodes of so many bundles. Epoch is that of the record for which they were found. The error is
// record.ErrNotFound, record.ErrDead or record.ErrStale.
func (t *Table) Awaits(id ids.Group, epoch uint64, bundles int) error {
	g := t.all[id]
	switch {
	case g == nil:
		return record.ErrNotFound
	case !g.Live():
		return record.ErrDead
	case !g.Waiting() || g.Epoch != epoch || bundles != len(g.Bundles):
		return record.ErrStale
	}
	return nil
}

// Place notes the nodes of all bundles of a group. The error is that of Awaits.
func (t *Table) Place(id ids.Group, epoch uint64, nodes []ids.Node, atMs int64) (*record.Group, error) {
	if err := t.Awaits(id, epoch, len(nodes)); err != nil {
		return nil, err
	}
	g := *t.all[id]
	g.State, g.Nodes, g.PlacedMs = record.GroupCreated, nodes, atMs
	t.Put(&g)
	return &g, nil
}

// Remove ends a group. It returns nil for one that was removed before. The error is record.ErrNotFound.
func (t *Table) Remove(id ids.Group, why string, atMs int64) (*record.Group, error) {
	old := t.all[id]
	switch {
	case old == nil:
		return nil, record.ErrNotFound
	case !old.Live():
		return nil, nil
	}
	g := *old
	g.State, g.Why, g.EndedMs = record.GroupRemoved, why, atMs
	t.Put(&g)
	t.removed = append(t.removed, id)
	if len(t.removed) > keptRemoved {
		t.forget(t.removed[0])
		t.removed = t.removed[1:]
	}
	return &g, nil
}

// LoseNode has other nodes be found for the bundles of a node that has died. It returns the groups that have changed.
func (t *Table) LoseNode(id ids.Node) (changed []*record.Group) {
	for _, old := range t.of(t.byNode[id]) {
		g := *old
		g.Nodes = slices.Clone(old.Nodes)
		for i, n := range g.Nodes {
			if n == id {
				g.Nodes[i] = ids.Node{}
			}
		}
		g.State = record.GroupRescheduling
		g.Epoch++
		t.Put(&g)
		changed = append(changed, &g)
	}
	return changed
}

// Removed returns the ids of the removed groups that are kept, the oldest first.
func (t *Table) Removed() []ids.Group { return t.removed }

// Restore puts a record of a snapshot.
func (t *Table) Restore(g *record.Group) error {
	switch {
	case t.all[g.ID] != nil:
		return fmt.Errorf("%s is there twice", g)
	case g.Live() && g.Name != "" && t.Named(g.Namespace, g.Name) != nil:
		return fmt.Errorf("%s and %s have the same name", g, t.Named(g.Namespace, g.Name).ID)
	case len(g.Nodes) != 0 && len(g.Nodes) != len(g.Bundles):
		return fmt.Errorf("%s has %d bundles and the nodes of %d", g, len(g.Bundles), len(g.Nodes))
	}
	t.Put(g)
	return nil
}

// RestoreRemoved notes in which order groups were removed. All records are restored before.
func (t *Table) RestoreRemoved(list []ids.Group) error {
	seen := make(map[ids.Group]bool, len(list))
	for _, id := range list {
		if g := t.all[id]; g == nil || g.Live() || seen[id] {
			return fmt.Errorf("placement group %s is not removed, or removed twice", id)
		}
		seen[id] = true
	}
	t.removed = list
	return nil
}
