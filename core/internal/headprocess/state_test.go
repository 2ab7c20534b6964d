package headprocess

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// newState returns the state of a new cluster, in memory.
func newState(t *testing.T) *raftstate.Node {
	t.Helper()
	state, err := raftstate.Open(raftstate.Options{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := awaitState(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestOwnCluster_SecondHeadOfOneState_IsTheSameClusterAndNeedsItsToken(t *testing.T) {
	state, token := newState(t), pki.NewToken("here")
	first, authority, err := ownCluster(t.Context(), state, token, false)
	if err != nil || authority == nil || first.Role != pki.RoleHead {
		t.Fatalf("%+v, %v, %v", first, authority, err)
	}
	second, again, err := ownCluster(t.Context(), state, token, false)
	if err != nil || second != first || string(again.Certificate()) != string(authority.Certificate()) {
		t.Errorf("%+v after %+v, %v", second, first, err)
	}
	var wrong *process.BadConfig
	if _, _, err := ownCluster(t.Context(), state, pki.NewToken("elsewhere"), false); !errors.As(err, &wrong) {
		t.Errorf("with another token: %v", err)
	}
	if third, none, err := ownCluster(t.Context(), state, token, true); err != nil || third != first || none != nil {
		t.Errorf("without TLS: %+v, %v, %v", third, none, err)
	}
}

// register puts a node into the state.
func register(t *testing.T, state *raftstate.Node, number uint32, isHead bool, session string) ids.Node {
	t.Helper()
	n := record.Node{ID: ids.NewNode(), Number: number, IsHead: isHead, SessionDir: session}
	if err := state.RegisterNode(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return n.ID
}

// dead returns the numbers of the nodes that are dead.
func dead(state *raftstate.Node) map[uint32]bool {
	list := map[uint32]bool{}
	for _, n := range state.ListNodes() {
		if n.State == record.NodeDead {
			list[n.Number] = true
		}
	}
	return list
}

func TestFormerRun_NodesThatDoNotComeBack_AreDeadAndTheOthersAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state, log := newState(t), slog.New(slog.DiscardHandler)
		for range 2 { // the first head of a cluster, and the same one started again
			if f, err := findFormer(t.Context(), state, "/s-1", log); f != nil || err != nil {
				t.Fatal(f, err)
			}
		}
		register(t, state, 1, true, "/s-1")
		back := register(t, state, 2, false, "/s-1")
		register(t, state, 3, false, "/s-1")

		f, err := findFormer(t.Context(), state, "/s-2", log)
		if f == nil || err != nil {
			t.Fatal(f, err)
		}
		if d := dead(state); len(d) != 1 || !d[1] {
			t.Errorf("dead at once: %v, want the former head's node", d)
		}
		begun := time.Now()
		if err := f.await(t.Context(), func(_ uint32, id ids.Node) bool { return id == back }); err != nil {
			t.Fatal(err)
		}
		if d := dead(state); len(d) != 2 || !d[3] || time.Since(begun) < returnLimit {
			t.Errorf("dead after %v: %v", time.Since(begun), d)
		}
		if f, err := findFormer(t.Context(), state, "/s-2", log); f != nil || err != nil {
			t.Errorf("the nodes are judged again: %v, %v", f, err)
		}
	})
}

func TestFormerRun_HeadEndsWhileItWaits_TheNextOneJudgesAnew(t *testing.T) {
	state, log := newState(t), slog.New(slog.DiscardHandler)
	if _, err := findFormer(t.Context(), state, "/s-1", log); err != nil {
		t.Fatal(err)
	}
	register(t, state, 2, false, "/s-1")
	f, err := findFormer(t.Context(), state, "/s-2", log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.await(ctx, func(uint32, ids.Node) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if again, err := findFormer(t.Context(), state, "/s-2", log); again == nil || err != nil || len(dead(state)) != 0 {
		t.Errorf("%v, %v, dead: %v", again, err, dead(state))
	}
}
