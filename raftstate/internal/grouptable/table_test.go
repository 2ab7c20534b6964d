package grouptable

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// scan finds the live groups that pass a test as the table would without its sets, in the order in which they were made.
func scan(m *Table, test func(*record.Group) bool) []*record.Group {
	var found []*record.Group
	for _, g := range m.all {
		if g.Live() && test(g) {
			found = append(found, g)
		}
	}
	return inOrder(found)
}

// check holds that the table finds what a look at all groups finds, and that its sets keep nothing else.
func check(t *testing.T, m *Table) {
	t.Helper()
	names, jobs, actors, nodes := map[name]ids.Group{}, map[ids.Job]int{}, map[ids.Actor]int{}, map[ids.Node]int{}
	removed := 0
	for _, g := range m.all {
		if !g.Live() {
			removed++
			continue
		}
		if g.Name != "" {
			names[name{g.Namespace, g.Name}] = g.ID
			if m.Named(g.Namespace, g.Name) != g {
				t.Fatalf("%s is not found by its name", g)
			}
		}
		jobs[g.Job]++
		actors[g.Actor]++
		for _, n := range slices.Compact(slices.SortedFunc(slices.Values(g.Nodes), func(a, b ids.Node) int { return slices.Compare(a[:], b[:]) })) {
			nodes[n]++
		}
	}
	delete(jobs, ids.Job{})
	delete(actors, ids.Actor{})
	delete(nodes, ids.Node{})
	if !maps.Equal(names, m.names) {
		t.Fatalf("the names are %v, want %v", m.names, names)
	}
	if removed != len(m.removed) || removed > keptRemoved {
		t.Fatalf("%d removed groups are kept, and %d are noted", removed, len(m.removed))
	}
	checkSets(t, m.byJob, jobs)
	checkSets(t, m.byActor, actors)
	checkSets(t, m.byNode, nodes)
	for id := range jobs {
		if want := scan(m, func(g *record.Group) bool { return g.Job == id }); !slices.Equal(m.OfJob(id), want) {
			t.Fatalf("of job %s: %v, want %v", id, m.OfJob(id), want)
		}
	}
	for id := range actors {
		if want := scan(m, func(g *record.Group) bool { return g.Actor == id }); !slices.Equal(m.OfActor(id), want) {
			t.Fatalf("of actor %s: %v, want %v", id, m.OfActor(id), want)
		}
	}
	if !slices.IsSortedFunc(m.All(), func(a, b *record.Group) int { return int(a.Ordinal) - int(b.Ordinal) }) || len(m.All()) != len(m.all) {
		t.Fatal("the groups are not listed in their order")
	}
}

// checkSets holds how many groups each set has. A set without any is not kept.
func checkSets[K comparable](t *testing.T, got sets[K], want map[K]int) {
	t.Helper()
	sizes := map[K]int{}
	for k, set := range got {
		sizes[k] = len(set)
	}
	if !maps.Equal(sizes, want) {
		t.Fatalf("the sets have %v groups, want %v", sizes, want)
	}
}

// model is what becomes of one group, told in the plainest way.
type model struct {
	state record.GroupState
	epoch uint64
	nodes []ids.Node
}

// Groups are made, placed, lose nodes and are removed. Each change does what a plain model does; the table finds what a look at all groups finds, a clone stays as it
// was, and the records alone make the same table.
func TestTable_RandomChanges_DoAsTheModel(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 11))
		m, plain := New(), map[ids.Group]*model{}
		clone, was := m.Clone(), map[ids.Group]*record.Group{}
		for i := range uint64(400) {
			id := ids.Group{byte(r.IntN(30)), 1}
			p := plain[id]
			switch r.IntN(6) {
			case 0, 1:
				g := record.Group{ID: id, Job: ids.JobOf(uint32(r.IntN(3))), Bundles: make([]record.Bundle, 1+r.IntN(3)), Epoch: 9, State: record.GroupRemoved, Nodes: []ids.Node{{7}}}
				if g.Actor = (ids.Actor{byte(r.IntN(3))}); r.IntN(2) == 0 {
					g.Name, g.Namespace = []string{"a", "b", "c"}[r.IntN(3)], []string{"x", "y"}[r.IntN(2)]
				}
				var want error
				if taken := g.Name != "" && len(scan(m, func(o *record.Group) bool { return o.Name == g.Name && o.Namespace == g.Namespace })) > 0; p != nil {
					want = record.ErrExists
				} else if taken {
					want = record.ErrNameTaken
				}
				added, err := m.Add(g, i)
				if !errors.Is(err, want) || (added == nil) != (want != nil) {
					t.Fatalf("seed %d: %s is added: %v, %v; want %v", seed, &g, added, err, want)
				}
				if want == nil {
					plain[id] = &model{record.GroupPending, 1, nil}
				}
			case 2, 3:
				epoch, nodes := uint64(1+r.IntN(3)), []ids.Node{{byte(1 + r.IntN(4))}, {byte(1 + r.IntN(4))}, {byte(1 + r.IntN(4))}}[:1+r.IntN(3)]
				var want error
				switch {
				case p == nil:
					want = record.ErrNotFound
				case p.state == record.GroupRemoved:
					want = record.ErrDead
				case p.state == record.GroupCreated || p.epoch != epoch || len(nodes) != len(m.Get(id).Bundles):
					want = record.ErrStale
				default:
					p.state, p.nodes = record.GroupCreated, nodes
				}
				if err := m.Awaits(id, epoch, len(nodes)); !errors.Is(err, want) || (err == nil) != (want == nil) {
					t.Fatalf("seed %d: group %s awaits nodes: %v, want %v", seed, id, err, want)
				}
				if placed, err := m.Place(id, epoch, nodes, 5); !errors.Is(err, want) || (placed == nil) != (want != nil) {
					t.Fatalf("seed %d: group %s is placed: %v, %v; want %v", seed, id, placed, err, want)
				}
			case 4:
				node := ids.Node{byte(1 + r.IntN(4))}
				var want []ids.Group
				for _, g := range scan(m, func(g *record.Group) bool { return g.On(node) }) {
					want = append(want, g.ID)
					p := plain[g.ID]
					p.state, p.nodes = record.GroupRescheduling, slices.Clone(p.nodes)
					p.epoch++
					for i := range p.nodes {
						if p.nodes[i] == node {
							p.nodes[i] = ids.Node{}
						}
					}
				}
				var got []ids.Group
				for _, g := range m.LoseNode(node) {
					got = append(got, g.ID)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d: with node %s the groups %v lose bundles, want %v", seed, node, got, want)
				}
			default:
				var want error
				if p == nil {
					want = record.ErrNotFound
				}
				changes := p != nil && p.state != record.GroupRemoved
				g, err := m.Remove(id, "by hand", 6)
				if !errors.Is(err, want) || (err == nil) != (want == nil) || (g != nil) != changes {
					t.Fatalf("seed %d: group %s is removed: %v, %v; want %v", seed, id, g, err, want)
				}
				if changes {
					p.state = record.GroupRemoved
				}
			}
			for id, p := range plain {
				if g := m.Get(id); g == nil || g.State != p.state || g.Epoch != p.epoch || !slices.Equal(g.Nodes, p.nodes) {
					t.Fatalf("seed %d: the group is %+v, want %+v", seed, g, p)
				}
			}
			if !maps.Equal(clone.all, was) {
				t.Fatalf("seed %d: a clone has changed", seed)
			}
			if i%20 == 0 {
				check(t, m)
				clone, was = m.Clone(), maps.Clone(m.all)
			}
		}
		again := New() // as after a snapshot
		for _, g := range m.ByID() {
			if err := again.Restore(g); err != nil {
				t.Fatal(err)
			}
		}
		if err := again.RestoreRemoved(slices.Clone(m.Removed())); err != nil {
			t.Fatal(err)
		}
		check(t, again)
		if !maps.Equal(again.names, m.names) || !slices.Equal(again.All(), m.All()) || !slices.Equal(again.Removed(), m.Removed()) {
			t.Errorf("seed %d: the records make another table", seed)
		}
	}
}

func numbered(i int) (id ids.Group) { copy(id[:], fmt.Sprintf("%06d", i)); return id }

// The oldest of the removed groups are forgotten. Groups that live are not, however old they are.
func TestTable_ManyAreRemoved_TheOldestAreForgotten(t *testing.T) {
	m := New()
	for i := range keptRemoved + 3 {
		if _, err := m.Add(record.Group{ID: numbered(i), Job: ids.JobOf(1), Actor: ids.Actor{1}}, uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range keptRemoved + 2 {
		if _, err := m.Remove(numbered(i+1), "by hand", 1); err != nil {
			t.Fatal(err)
		}
	}
	if m.Get(numbered(0)) == nil || m.Get(numbered(1)) != nil || m.Get(numbered(2)) != nil || m.Get(numbered(3)) == nil || len(m.all) != keptRemoved+1 {
		t.Errorf("%d groups are kept", len(m.all))
	}
	check(t, m)
}

// Records that no table can have written are refused, so that a damaged snapshot makes no table.
func TestTable_RestoreOfWhatCannotBe_IsRefused(t *testing.T) {
	live := &record.Group{ID: ids.Group{1}, Name: "n", State: record.GroupPending, Bundles: make([]record.Bundle, 2)}
	gone := &record.Group{ID: ids.Group{2}, Name: "n", State: record.GroupRemoved, Bundles: make([]record.Bundle, 2)}
	m := New()
	for _, g := range []*record.Group{live, gone} {
		if err := m.Restore(g); err != nil {
			t.Fatal(err)
		}
	}
	for what, g := range map[string]*record.Group{
		"the same again": live, "a name that is taken": {ID: ids.Group{3}, Name: "n", State: record.GroupCreated},
		"too few nodes": {ID: ids.Group{4}, State: record.GroupCreated, Bundles: make([]record.Bundle, 2), Nodes: make([]ids.Node, 1)},
	} {
		if m.Restore(g) == nil {
			t.Errorf("%s is restored", what)
		}
	}
	for what, list := range map[string][]ids.Group{"a live one": {live.ID}, "an unknown one": {{9}}, "one twice": {gone.ID, gone.ID}} {
		if m.RestoreRemoved(list) == nil {
			t.Errorf("%s is noted as removed", what)
		}
	}
	if err := m.RestoreRemoved([]ids.Group{gone.ID}); err != nil || !slices.Equal(m.Removed(), []ids.Group{gone.ID}) {
		t.Errorf("%v, %v", m.Removed(), err)
	}
}
