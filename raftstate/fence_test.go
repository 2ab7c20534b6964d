package raftstate

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// The record of an exclusive actor names the earlier incarnation that may still begin calls, however often the actor restarts before it is placed.
func TestMachine_ExclusiveActorRestarts_NamesWhatMayStillRun(t *testing.T) {
	id, x := ids.Actor{1}, ids.Node{7}
	for _, c := range []struct {
		name      string
		shared    bool // it is not exclusive
		causes    []record.Reason
		unplaced  bool // the first incarnation was never placed
		want      uint64
		thenPlace bool
	}{
		{name: "its node died", causes: []record.Reason{record.NodeDied}, want: 1},
		{name: "it was killed", causes: []record.Reason{record.Killed}, want: 1},
		{name: "killed again before it was placed", causes: []record.Reason{record.NodeDied, record.Killed, record.Killed}, want: 1},
		{name: "its process was seen to end", causes: []record.Reason{record.WorkerDied}},
		{name: "its process was ended for its memory", causes: []record.Reason{record.OutOfMemory}},
		{name: "killed after its process had ended", causes: []record.Reason{record.GPUMemory, record.Killed}},
		{name: "killed before it was ever placed", causes: []record.Reason{record.Killed}, unplaced: true},
		{name: "placed again", causes: []record.Reason{record.NodeDied}, thenPlace: true},
		{name: "not exclusive", shared: true, causes: []record.Reason{record.NodeDied}},
	} {
		m := NewMachine()
		index := uint64(0)
		apply := func(b Body) {
			t.Helper()
			index++
			if r, _ := m.Apply(index, Command{Body: b}); r.Outcome != Done {
				t.Fatalf("%s: %T: outcome %d", c.name, b, r.Outcome)
			}
		}
		apply(&RegisterActor{Actor: record.Actor{ID: id, Exclusive: !c.shared, MaxRestarts: -1}})
		if !c.unplaced {
			apply(&ActorPlaced{record.Instance{Actor: id, Incarnation: 1, Node: x}})
		}
		for i, reason := range c.causes {
			apply(&ActorRestarting{id, uint64(i + 1), record.Cause{Reason: reason}})
		}
		if c.thenPlace {
			apply(&ActorPlaced{record.Instance{Actor: id, Incarnation: 2, Node: ids.Node{8}}})
		}
		a, _ := m.Actor(id)
		if a.Fence.Incarnation != c.want || a.Fenced() != (c.want != 0) || c.want != 0 && a.Fence.Node != x {
			t.Errorf("%s: it waits for %+v", c.name, a.Fence)
		}
	}
}

// The proof of a node's death may come after the judgement.
func TestMachine_NodeGone_AddsTheProof(t *testing.T) {
	m := NewMachine()
	id := ids.Node{7}
	_, _ = m.Apply(1, Command{Body: &RegisterNode{record.Node{ID: id, Gone: true}}})
	if n, _ := m.Node(id); n.Gone {
		t.Error("a node that registers is gone")
	}
	_, _ = m.Apply(2, Command{Body: &NodeDead{ID: id, Reason: "silent"}})
	if n, _ := m.Node(id); n.State != record.NodeDead || n.Gone {
		t.Errorf("%+v", n)
	}
	_, events := m.Apply(3, Command{Body: &NodeDead{ID: id, Reason: "ended", Gone: true}})
	if n, _ := m.Node(id); !n.Gone || n.Reason != "silent" || len(events) != 1 {
		t.Errorf("%+v with %d events", n, len(events))
	}
	if _, events := m.Apply(4, Command{Body: &NodeDead{ID: id}}); len(events) != 0 {
		t.Errorf("once more: %d events", len(events))
	}
	if n, _ := m.Node(id); !n.Gone {
		t.Error("the proof is forgotten")
	}
}
