package headlink_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/alive"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// faultyState is a cluster's state that counts, and fails or is slow when the test wants it.
type faultyState struct {
	headlink.State
	confirmed  *atomic.Int32
	unwritable *atomic.Bool
	slow       *atomic.Int64 // how long a commit takes
}

func (s faultyState) Confirm() error {
	time.Sleep(time.Duration(s.slow.Load()))
	if s.unwritable.Load() {
		return errors.New("the disk is full")
	}
	s.confirmed.Add(1)
	return s.State.Confirm()
}

func (s faultyState) NodeDead(ctx context.Context, id ids.Node, reason string, atMs int64) error {
	if s.unwritable.Load() {
		return errors.New("the disk is full")
	}
	return s.State.NodeDead(ctx, id, reason, atMs)
}

// judged is a world whose head judges the nodes. Its time is the test's.
type judged struct {
	*world
	confirmed  atomic.Int32
	unwritable atomic.Bool
	slow       atomic.Int64
}

func newJudged(t *testing.T) *judged {
	begun := time.Now()
	now := func() time.Duration { return time.Since(begun) }
	timing, err := alive.NewTiming(alive.DefaultDead)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	j := &judged{world: &world{t: t, ctx: ctx, stores: raftstate.NewMemoryStores(), node: newPlayedNode()}}
	j.judge = func(state *raftstate.Node) headlink.Judge {
		return headlink.Judge{Timing: timing, Now: now, State: faultyState{state, &j.confirmed, &j.unwritable, &j.slow}}
	}
	j.client = headlink.NewClient(headlink.ClientOptions{Number: nodeNumber, ID: nodeID, Node: j.node, Now: now, Log: quiet()})
	t.Cleanup(cancel)
	t.Cleanup(j.client.Close)
	j.startHead(true)
	j.connect()
	if err := j.client.RegisterNode(ctx, record.Node{ID: nodeID, Number: nodeNumber}); err != nil {
		t.Fatal(err)
	}
	return j
}

// other registers a node that never says anything.
func (j *judged) other(number uint32) ids.Node {
	j.t.Helper()
	id := ids.Node{byte(number)}
	if err := j.state.RegisterNode(j.ctx, record.Node{ID: id, Number: number}); err != nil {
		j.t.Fatal(err)
	}
	return id
}

// row returns what the node hears when it asks for a node.
func (j *judged) row(id ids.Node) record.Node {
	j.t.Helper()
	list, err := j.client.Nodes(j.ctx)
	if err != nil {
		j.t.Fatal(err)
	}
	for _, n := range list {
		if n.ID == id {
			return n
		}
	}
	j.t.Fatalf("no node %s in %+v", id, list)
	return record.Node{}
}

func (j *judged) heard(id ids.Node) record.NodeState {
	j.node.mu.Lock()
	defer j.node.mu.Unlock()
	return j.node.nodes[id].State
}

func TestJudge_OnlyNode_LivesAndCostsNoCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudged(t)
		time.Sleep(time.Minute)
		if n := j.row(nodeID); n.State != record.NodeAlive || n.Unreachable || j.confirmed.Load() != 0 {
			t.Errorf("%+v, with %d commits", n, j.confirmed.Load())
		}
		if j.client.Alone() != 0 {
			t.Error("the node believes that no head counts on it")
		}
	})
}

func TestJudge_SilentNode_IsUnreachableAndThenDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudged(t)
		id := j.other(8)
		time.Sleep(4500 * time.Millisecond)
		if n := j.row(id); n.Unreachable {
			t.Errorf("unreachable within 4.5 s: %+v", n)
		}
		time.Sleep(1500 * time.Millisecond)
		if n := j.row(id); n.State != record.NodeAlive || !n.Unreachable {
			t.Errorf("after 6 s: %+v", n)
		}
		time.Sleep(3500 * time.Millisecond)
		if n := j.row(id); n.State != record.NodeAlive {
			t.Errorf("after 9.5 s: %+v", n)
		}
		if c := j.confirmed.Load(); c < 9 || c > 20 {
			t.Errorf("%d commits in 9.5 s", c)
		}
		time.Sleep(2 * time.Second)
		if n := j.row(id); n.State != record.NodeDead || n.Unreachable || n.Reason != "nothing was heard from it for 10s" {
			t.Errorf("after 11.5 s: %+v", n)
		}
		if n := j.row(nodeID); n.State != record.NodeAlive || n.Unreachable || j.heard(id) != record.NodeDead {
			t.Errorf("the other node: %+v, and it has heard that the silent one is %s", n, j.heard(id))
		}
		before := j.confirmed.Load()
		time.Sleep(time.Minute)
		if n := j.confirmed.Load() - before; n != 0 {
			t.Errorf("%d commits of a node that is the only one again", n)
		}
	})
}

func TestJudge_NumbersThatRegisterInAnotherOrder_AllLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudged(t)
		j.other(9)
		id := j.other(3)
		time.Sleep(time.Second)
		if n := j.row(id); n.State != record.NodeAlive {
			t.Errorf("%+v", n)
		}
		time.Sleep(11 * time.Second)
		if n := j.row(id); n.State != record.NodeDead {
			t.Errorf("%+v", n)
		}
	})
}

func TestJudge_NextHead_JudgesAnewWhoDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudged(t)
		id := j.other(8)
		time.Sleep(9 * time.Second)
		j.restartHead()
		j.connect()
		time.Sleep(9 * time.Second)
		if n := j.row(id); n.State != record.NodeAlive || !n.Unreachable {
			t.Errorf("9 s after the restart: %+v", n)
		}
		time.Sleep(3 * time.Second)
		if n := j.row(id); n.State != record.NodeDead {
			t.Errorf("12 s after the restart: %+v", n)
		}
		if n := j.row(nodeID); n.State != record.NodeAlive || n.Unreachable {
			t.Errorf("the node that has come back: %+v", n)
		}
	})
}

func TestJudge_NothingCanBeCommitted_NothingIsCountedAndTheDeathIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudged(t)
		id := j.other(8)
		j.unwritable.Store(true)
		time.Sleep(8 * time.Second)
		if a := j.client.Alone(); a < 7*time.Second || a > 8*time.Second {
			t.Errorf("nothing is committed for 8 s, and the node believes that no head counts on it for %v", a)
		}
		time.Sleep(7 * time.Second)
		if n := j.row(id); n.State != record.NodeAlive {
			t.Errorf("%+v, although its death cannot be committed", n)
		}
		j.unwritable.Store(false)
		time.Sleep(2 * time.Second)
		if n := j.row(id); n.State != record.NodeDead || j.client.Alone() != 0 {
			t.Errorf("%+v, and the node is alone: %v", n, j.client.Alone())
		}
	})
}

// A node whose death is not committed yet stays connected. Nothing may be placed there, or it would be lost with the node.
func TestJudge_DeathIsNotCommittedYet_NothingIsPlacedThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudged(t)
		m := newMember(t, 8)
		j.meets(m)
		if err := m.client.RegisterNode(j.ctx, record.Node{ID: m.id, Number: m.number}); err != nil {
			t.Fatal(err)
		}
		m.client.Stock(all(oneB))
		synctest.Wait()
		j.client.Want(5, 6, wants(1, oneB))
		synctest.Wait()
		if n := j.server.Sizes()["tickets"]; n != 1 {
			t.Fatalf("%d offers of a node that lives", n)
		}
		j.unwritable.Store(true)
		time.Sleep(15 * time.Second)
		if n := j.row(m.id); n.State != record.NodeAlive || !n.Unreachable {
			t.Errorf("%+v, although its death cannot be committed", n)
		}
		j.client.Want(5, 7, wants(1, oneB))
		synctest.Wait()
		if sizes := j.server.Sizes(); sizes["tickets"] != 0 || sizes["wants"] == 0 {
			t.Errorf("a node that is about to be dead is offered: %v", sizes)
		}
		j.unwritable.Store(false)
		time.Sleep(2 * time.Second)
		if n := j.row(m.id); n.State != record.NodeDead || n.Unreachable {
			t.Errorf("%+v", n)
		}
	})
}

func TestJudge_NodeThatTheStateHasForgotten_IsToldThatItIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudged(t)
		time.Sleep(time.Second)
		j.end()
		j.stores = raftstate.NewMemoryStores()
		j.startHead(true)
		j.connect()
		time.Sleep(2 * time.Second)
		if s := j.heard(nodeID); s != record.NodeDead {
			t.Errorf("the node has heard that it is %s", s)
		}
	})
}

// A commit of the head that takes four times as long as makes a silent node dead is no silence of the nodes.
func TestJudge_CommitsTakeLong_NobodyIsUnreachableOrDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJudged(t)
		m := newMember(t, 8)
		begun := time.Now()
		m.client.Close()
		m.client = headlink.NewClient(headlink.ClientOptions{
			Number: m.number, ID: m.id, Node: m, Placed: m, Log: quiet(), Now: func() time.Duration { return time.Since(begun) },
		})
		t.Cleanup(m.client.Close)
		j.joins(m)
		time.Sleep(3 * time.Second)
		j.slow.Store(int64(4 * alive.DefaultDead))
		alone := time.Duration(0)
		for range 12 {
			time.Sleep(alive.DefaultDead)
			for _, id := range []ids.Node{nodeID, m.id} {
				if n := j.row(id); n.State != record.NodeAlive || n.Unreachable {
					t.Fatalf("the head's disk is slow, and a node that sends heartbeats is taken for silent: %+v", n)
				}
			}
			alone = max(alone, j.client.Alone(), m.client.Alone())
		}
		if alone < alive.DefaultDead {
			t.Errorf("the nodes have waited for %v: the commits were not slow", alone)
		}
		j.slow.Store(0)
		time.Sleep(5 * alive.DefaultDead)
		if a, b := j.client.Alone(), m.client.Alone(); a != 0 || b != 0 {
			t.Errorf("the disk is fast again, and the nodes believe that no head counts on them for %v and %v", a, b)
		}
	})
}
