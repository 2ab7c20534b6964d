package raftstate

import (
	"errors"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// checkGroups holds what is so of all placement groups after each command.
func checkGroups(t *testing.T, m *Machine) {
	t.Helper()
	removed := 0
	for _, g := range m.ListGroups() {
		if !g.Live() {
			removed++
			continue
		}
		if named, ok := m.GroupNamed(g.Namespace, g.Name); g.Name != "" && (!ok || named.ID != g.ID) {
			t.Fatalf("%s has lost its name", &g)
		}
		if m.leaves(g.Job, g.Detached, g.Lasting) {
			t.Fatalf("%s lives, and its job %s is over", &g, g.Job)
		}
		if a := m.actors.Get(g.Actor); a != nil && !a.Live() && !g.Detached {
			t.Fatalf("%s lives, and the actor %s is dead that has made it", &g, a.ID)
		}
		lacking := 0
		for i := range g.Bundles {
			id := g.NodeOf(i)
			if id == (ids.Node{}) {
				lacking++
			} else if n := m.nodes[id]; n == nil || n.State == record.NodeDead {
				t.Fatalf("%s, which is %s, has bundle %d on the dead node %s", &g, g.State, i, id)
			}
		}
		want := map[record.GroupState]bool{
			record.GroupPending: g.Epoch == 1 && len(g.Nodes) == 0, record.GroupCreated: lacking == 0, record.GroupRescheduling: lacking > 0 && g.Epoch > 1,
		}
		if !want[g.State] {
			t.Fatalf("%s is %s in epoch %d with %d of %d bundles placed", &g, g.State, g.Epoch, len(g.Bundles)-lacking, len(g.Bundles))
		}
	}
	if removed != len(m.groups.Removed()) {
		t.Fatalf("%d groups are removed, and %d are listed as removed", removed, len(m.groups.Removed()))
	}
}

// Whoever proposes changes of groups hears why one was refused, and members read what came of them.
func TestNode_Groups_ErrorsAndReads(t *testing.T) {
	n, ctx := openLone(t), testContext(t)
	if err := n.RegisterNode(ctx, record.Node{ID: ids.Node{1}}); err != nil {
		t.Fatal(err)
	}
	group := func(id byte, name string) record.Group {
		return record.Group{ID: ids.Group{id}, Name: name, Namespace: "ns", Strategy: "PACK", Bundles: []record.Bundle{{Resources: record.Resources{"CPU": 1}}}}
	}
	create := func(g record.Group) error { return n.CreateGroup(ctx, g) }
	place := func(id byte, epoch uint64, on ids.Node) error {
		return n.PlaceGroup(ctx, ids.Group{id}, epoch, []ids.Node{on}, 7)
	}
	remove := func(id byte) error { return n.RemoveGroup(ctx, ids.Group{id}, "by hand", 8) }
	bad := group(3, "")
	bad.Bundles = nil
	for _, c := range []struct {
		what string
		got  error
		want error
	}{
		{"a group", create(group(1, "g")), nil},
		{"the same again", create(group(1, "other")), record.ErrExists},
		{"the name again", create(group(2, "g")), record.ErrNameTaken},
		{"without bundles", create(bad), record.ErrInvalid},
		{"placed on a node that is not known", place(1, 1, ids.Node{9}), record.ErrNodeDead},
		{"placed in a later epoch", place(1, 2, ids.Node{1}), record.ErrStale},
		{"placed", place(1, 1, ids.Node{1}), nil},
		{"placed again", place(1, 1, ids.Node{1}), record.ErrStale},
		{"another one is placed", place(9, 1, ids.Node{1}), record.ErrNotFound},
		{"a second group", create(group(2, "")), nil},
		{"another one is removed", remove(9), record.ErrNotFound},
		{"removed", remove(1), nil},
		{"removed again", remove(1), nil},
		{"placed after its end", place(1, 1, ids.Node{1}), record.ErrDead},
	} {
		if c.want == nil && c.got != nil || !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	list := n.ListGroups()
	if len(list) != 2 || list[0].ID != (ids.Group{1}) || list[1].ID != (ids.Group{2}) {
		t.Fatalf("the groups are %+v", list)
	}
	if g, ok := n.Group(ids.Group{1}); !ok || g.State != record.GroupRemoved || g.Why != "by hand" || g.PlacedMs != 7 || g.EndedMs != 8 {
		t.Errorf("the first is %+v, %v", g, ok)
	}
	if _, ok := n.GroupNamed("ns", "g"); ok {
		t.Error("a removed group has its name")
	}
	if err := create(group(4, "g")); err != nil {
		t.Errorf("the name is free: %v", err)
	}
	if g, ok := n.GroupNamed("ns", "g"); !ok || g.ID != (ids.Group{4}) {
		t.Errorf("the group with the name is %+v, %v", g, ok)
	}
}

// What a command brings of a group as if it had lived already does not count.
func TestMachine_GroupCreated_BeginsAnew(t *testing.T) {
	m := NewMachine()
	sent := record.Group{
		ID: ids.Group{1}, Strategy: "SPREAD", Bundles: []record.Bundle{{Resources: record.Resources{"CPU": 1}}}, Ordinal: 77, State: record.GroupCreated, Epoch: 5,
		Nodes: []ids.Node{{9}}, PlacedMs: 5, EndedMs: 6, Why: "it was removed",
	}
	m.Apply(3, Command{Body: &GroupCreate{sent}})
	want := record.Group{ID: sent.ID, Strategy: "SPREAD", Bundles: sent.Bundles, Ordinal: 3, State: record.GroupPending, Epoch: 1}
	if got, ok := m.Group(sent.ID); !ok || got.Ordinal != want.Ordinal || got.State != want.State || got.Epoch != want.Epoch || got.Nodes != nil || got.PlacedMs+got.EndedMs != 0 || got.Why != "" {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
