package headprocess

import (
	"errors"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/link"
)

func TestLiving_OnlyNodesThatTheStateCallsAlive_AreReached(t *testing.T) {
	state := newState(t)
	register(t, state, 1, true, "")
	gone := register(t, state, 2, false, "")
	if err := state.NodeDead(t.Context(), gone, "its cable was cut", 1); err != nil {
		t.Fatal(err)
	}
	if err := living(state, 1); err != nil {
		t.Errorf("a node that is alive: %v", err)
	}
	if err := living(state, 2); !errors.Is(err, link.ErrDead) || !strings.Contains(err.Error(), "its cable was cut") {
		t.Errorf("a node that is dead: %v", err)
	}
	if err := living(state, 3); err == nil || !strings.Contains(err.Error(), "node 3 is not in this cluster") {
		t.Errorf("a node that nobody knows: %v", err)
	}
}
