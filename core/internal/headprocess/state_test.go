package headprocess

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/alive"
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

func TestEndFormer_HeadOfAnotherSession_ItsNodeIsDeadAndTheOthersAreNot(t *testing.T) {
	state, log := newState(t), slog.New(slog.DiscardHandler)
	for range 2 { // the first head of a cluster, and the same one started again
		if former, err := endFormer(t.Context(), state, process.HeadNumber, "/s-1", log); former || err != nil {
			t.Fatal(former, err)
		}
	}
	register(t, state, 1, true, "/s-1")
	register(t, state, 2, false, "/s-1")
	if former, err := endFormer(t.Context(), state, process.HeadNumber, "/s-2", log); !former || err != nil {
		t.Fatal(former, err)
	}
	if d := dead(state); len(d) != 1 || !d[1] {
		t.Errorf("dead: %v, want the former head's node", d)
	}
	register(t, state, 3, true, "/s-2")
	if former, err := endFormer(t.Context(), state, process.HeadNumber, "/s-2", log); former || err != nil || len(dead(state)) != 1 {
		t.Errorf("started again in its session: %v, %v, dead: %v", former, err, dead(state))
	}
}

// timingAfter returns the times of a cluster whose head was started with that node_timeout; 0: with none.
func timingAfter(t *testing.T, state *raftstate.Node, seconds float64) (alive.Timing, error) {
	t.Helper()
	if err := (&Config{NodeTimeout: seconds}).noteTimeout(t.Context(), state); err != nil {
		return alive.Timing{}, err
	}
	return timingOf(state)
}

func TestTiming_NodeTimeout_IsKeptInTheState(t *testing.T) {
	state := newState(t)
	timeout := func(seconds float64) time.Duration {
		t.Helper()
		timing, err := timingAfter(t, state, seconds)
		if err != nil {
			t.Fatal(err)
		}
		return timing.Dead
	}
	if d := timeout(0); d != alive.DefaultDead {
		t.Errorf("%v by default", d)
	}
	if d := timeout(5.5); d != 5500*time.Millisecond {
		t.Errorf("5.5 seconds are %v", d)
	}
	if d := timeout(0); d != 5500*time.Millisecond {
		t.Errorf("%v, and the state has 5.5 seconds", d)
	}
	var wrong *process.BadConfig
	for _, seconds := range []float64{4.9, 60.1, -1, math.NaN(), math.Inf(1), 1e300} {
		if err := CheckTimeout(seconds); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("is %v seconds, and must be from 5s to 1m0s", seconds)) {
			t.Errorf("%v: %v", seconds, err)
		}
		if _, err := timingAfter(t, state, seconds); !errors.As(err, &wrong) {
			t.Errorf("%v: %v", seconds, err)
		}
	}
	if err := state.PutSetting(t.Context(), TimeoutSetting, []byte("soon")); err != nil {
		t.Fatal(err)
	}
	if _, err := timingAfter(t, state, 0); err == nil {
		t.Error("a setting that is no number is accepted")
	}
}

// A head that follows one with a longer node_timeout waits for what that one may have promised, however often heads are started with the shorter one.
func TestTiming_ShorterNodeTimeout_FenceIsThatOfTheOneBefore(t *testing.T) {
	state := newState(t)
	for _, c := range []struct {
		seconds float64
		fence   time.Duration
	}{{20, 24 * time.Second}, {5, 24 * time.Second}, {5, 24 * time.Second}, {0, 24 * time.Second}, {10, 24 * time.Second}, {6, 24 * time.Second}} {
		timing, err := timingAfter(t, state, c.seconds)
		if err != nil || timing.Fence != c.fence {
			t.Errorf("node_timeout %v: %v, %v", c.seconds, timing.Fence, err)
		}
	}
	old := newState(t) // of a head with the default
	if err := old.RegisterNode(t.Context(), record.Node{ID: ids.Node{1}}); err != nil {
		t.Fatal(err)
	}
	if timing, err := timingAfter(t, old, 5); err != nil || timing.Fence != 12*time.Second {
		t.Errorf("after the default: %v, %v", timing.Fence, err)
	}
}

func TestExclusive_IsKeptInTheState(t *testing.T) {
	state := newState(t)
	yes, no := true, false
	for _, c := range []struct {
		given *bool
		want  bool
	}{{nil, false}, {&yes, true}, {nil, true}, {&no, false}, {nil, false}} {
		if err := (&Config{ExclusiveActors: c.given}).noteExclusive(t.Context(), state); err != nil || exclusiveIn(state) != c.want {
			t.Errorf("given %v: %v, %v", c.given, exclusiveIn(state), err)
		}
	}
}
