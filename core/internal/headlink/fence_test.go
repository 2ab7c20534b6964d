package headlink_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// fenced is a cluster of a living node and a silent one, on which an actor runs.
type fenced struct {
	*judged
	silent ids.Node
	actor  record.Actor
}

func newFenced(t *testing.T, exclusive bool, on func(*judged) ids.Node) *fenced {
	j := newJudged(t)
	f := &fenced{judged: j, silent: j.other(8), actor: record.Actor{
		ID: ids.Actor{0xe}, Exclusive: exclusive, MaxRestarts: -1, Detached: true, Spec: []byte("s"),
	}}
	node := f.silent
	if on != nil {
		node = on(j)
	}
	i := record.Instance{Actor: f.actor.ID, Incarnation: 1, Node: node, Worker: ids.Worker{1}, Address: "a"}
	for _, err := range []error{j.state.RegisterActor(j.ctx, f.actor), j.state.ActorPlaced(j.ctx, i), j.state.ActorAlive(j.ctx, i, 1)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
	j.client.Stock(all(oneCPU))
	return f
}

// placed reports whether the living node was told to start the second incarnation.
func (f *fenced) placed() bool { return slices.Contains(f.node.said(), "place e#2 s") }

func TestFence_NodeFallsSilent_RestartsWhenItsPromiseHasEnded(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFenced(t, exclusive, nil)
			time.Sleep(11300 * time.Millisecond)
			if n := f.row(f.silent); n.State != record.NodeDead || n.Gone {
				t.Fatalf("after 11.3 s the silent node is %+v", n)
			}
			if f.placed() == exclusive {
				t.Errorf("exclusive %v: 11.3 s after the last word its restart is placed: %v", exclusive, f.placed())
			}
			time.Sleep(2 * time.Second)
			if !f.placed() {
				t.Errorf("exclusive %v: not placed after 13.3 s; the node was told %q", exclusive, f.node.said())
			}
		})
	}
}

func TestFence_ProofOfTheNodesEnd_RestartsAtOnce(t *testing.T) {
	for _, after := range []time.Duration{2 * time.Second, 10800 * time.Millisecond} { // it lives still, it is dead without proof
		synctest.Test(t, func(t *testing.T) {
			f := newFenced(t, true, nil)
			time.Sleep(after)
			if f.placed() {
				t.Fatalf("placed within %v", after)
			}
			if err := f.state.NodeGone(f.ctx, f.silent, "its daemon was killed", 1); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
			if !f.placed() {
				t.Errorf("%v and a proof: not placed; the node was told %q", after, f.node.said())
			}
		})
	}
}

func TestFence_NextHead_WaitsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFenced(t, true, nil)
		time.Sleep(11300 * time.Millisecond)
		f.restartHead()
		f.connect()
		f.client.Stock(all(oneCPU))
		time.Sleep(11 * time.Second)
		if f.placed() {
			t.Error("placed within 11 s of a head that does not know what was promised")
		}
		time.Sleep(2 * time.Second)
		if !f.placed() {
			t.Errorf("not placed within 13 s; the node was told %q", f.node.said())
		}
	})
}

func TestFence_ActorIsKilled_RestartsWhenItsNodeSaysThatItsProcessIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFenced(t, true, func(*judged) ids.Node { return nodeID })
		if err := f.head.KillActor(f.ctx, f.actor.ID, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if said := f.node.said(); f.placed() || !slices.Contains(said, "end e#1") {
			t.Fatalf("the node was told %q", said)
		}
		f.restartHead() // the next one asks again
		f.connect()
		f.client.Stock(all(oneCPU))
		time.Sleep(time.Second)
		if n := len(slices.DeleteFunc(f.node.said(), func(s string) bool { return s != "end e#1" })); n != 2 || f.placed() {
			t.Fatalf("asked %d times; the node was told %q", n, f.node.said())
		}
		f.client.ActorExited(record.Instance{Actor: f.actor.ID, Incarnation: 1}, record.Cause{Reason: record.Killed})
		time.Sleep(time.Second)
		if !f.placed() {
			t.Errorf("not placed; the node was told %q", f.node.said())
		}
	})
}

func TestFence_KilledForGoodWhileItWaits_IsNotPlaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFenced(t, true, nil)
		time.Sleep(11300 * time.Millisecond)
		if err := f.head.KillActor(f.ctx, f.actor.ID, true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if f.placed() || f.server.Fenced() != 0 {
			t.Errorf("%d wait; the node was told %q", f.server.Fenced(), f.node.said())
		}
	})
}

// An actor whose creator has not said whether it is exclusive is what the cluster's setting says.
func TestFence_CreatorHasNotSaid_TheClusterDecides(t *testing.T) {
	for _, setting := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			j := newJudged(t)
			judge := j.judge
			j.judge = func(state *raftstate.Node) headlink.Judge {
				x := judge(state)
				x.Exclusive = setting
				return x
			}
			j.restartHead()
			j.connect()
			for i, a := range []record.Actor{{AsCluster: true}, {Exclusive: true}, {}} {
				a.ID = ids.Actor{byte(i + 1)}
				if err := j.client.CreateActor(j.ctx, a); err != nil {
					t.Fatal(err)
				}
				want := a.Exclusive || a.AsCluster && setting
				if got, err := j.client.Actor(j.ctx, a.ID); err != nil || got.Exclusive != want {
					t.Errorf("setting %v, %+v: exclusive %v, %v", setting, a, got.Exclusive, err)
				}
			}
		})
	}
}
