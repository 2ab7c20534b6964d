package raftstate

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// A node that is drained stays so when it registers again, and a snapshot has that. Its death quotes why it was drained.
func TestNodeDrain_IsKept_UntilTheNodeIsDead(t *testing.T) {
	m, index := NewMachine(), uint64(1)
	apply := func(b Body) Result {
		t.Helper()
		index++
		r, _ := m.Apply(index, Command{Body: b})
		return r
	}
	id := ids.Node{1}
	drain := record.Drain{Reason: record.DrainPreemption, Message: "the spot price rose", AtMs: 5, DeadlineMs: 9}
	if r := apply(&NodeDrain{id, drain}); r.Outcome != NotFound {
		t.Errorf("a node that nobody knows: %v", r.Outcome)
	}
	apply(&RegisterNode{record.Node{ID: id, Drain: &drain}})
	if n, _ := m.Node(id); n.Drain != nil {
		t.Error("a node that registers says that it is drained, and is believed")
	}
	apply(&NodeDrain{id, record.Drain{Reason: record.DrainIdle}})
	apply(&NodeDrain{id, drain})
	apply(&RegisterNode{record.Node{ID: id, Name: "again"}})
	if n, _ := m.Node(id); n.Drain == nil || *n.Drain != drain || n.Name != "again" || !n.Preempted() {
		t.Errorf("the record is %+v", n)
	}
	apply(&NodeDead{ID: id, Reason: "it was stopped", AtMs: 10})
	n, _ := m.Node(id)
	if n.Drain == nil || n.Reason != "it was preempted: the spot price rose (it was stopped)" {
		t.Errorf("the dead node's record is %+v", n)
	}
	if r := apply(&NodeDrain{id, record.Drain{Reason: record.DrainIdle}}); r.Outcome != Done {
		t.Errorf("a dead node: %v", r.Outcome)
	}
	if again, _ := m.Node(id); *again.Drain != drain {
		t.Errorf("a dead node is drained: %+v", again.Drain)
	}
}

// A restart after the preemption of the actor's node does not count towards max_restarts, one after another death does.
func TestActorRestarting_NodeWasPreempted_DoesNotCount(t *testing.T) {
	m, index := NewMachine(), uint64(1)
	apply := func(b Body) {
		t.Helper()
		index++
		if r, _ := m.Apply(index, Command{Body: b}); r.Outcome != Done {
			t.Fatalf("%T: %v", b, r.Outcome)
		}
	}
	actor := ids.Actor{1}
	apply(&RegisterActor{record.Actor{ID: actor, MaxRestarts: 1}})
	for i, c := range []struct {
		reason            record.DrainReason
		cause             record.Reason
		restarts, counted int
	}{
		{record.DrainPreemption, record.NodeDied, 1, 0},
		{record.DrainPreemption, record.WorkerDied, 2, 1},
		{record.DrainIdle, record.NodeDied, 3, 2},
		{"", record.NodeDied, 4, 3},
		{record.DrainPreemption, record.NodeDied, 5, 3},
	} {
		node, incarnation := ids.Node{byte(i + 1)}, uint64(i+1)
		apply(&RegisterNode{record.Node{ID: node}})
		apply(&ActorPlaced{record.Instance{Actor: actor, Incarnation: incarnation, Node: node}})
		if c.reason != "" {
			apply(&NodeDrain{node, record.Drain{Reason: c.reason}})
		}
		apply(&NodeDead{ID: node, Reason: "gone"})
		apply(&ActorRestarting{actor, incarnation, record.Cause{Reason: c.cause}})
		if a, _ := m.Actor(actor); a.NumRestarts != c.restarts || a.Counted() != c.counted {
			t.Errorf("%s after %s: %d restarts, %d count", c.cause, c.reason, a.NumRestarts, a.Counted())
		}
	}
}

func TestNodeDrain_Wrong_IsRefused(t *testing.T) {
	for _, d := range []record.Drain{
		{}, {Reason: "DRAIN_NODE_REASON_UNSPECIFIED"}, {Reason: record.DrainIdle, Message: strings.Repeat("x", record.MaxDrainMessage+1)},
		{Reason: record.DrainIdle, DeadlineMs: -1}, {Reason: record.DrainIdle, AtMs: -1},
	} {
		if err := (&NodeDrain{ids.Node{1}, d}).check(); err == nil {
			t.Errorf("%.60v is accepted", d)
		}
	}
}
