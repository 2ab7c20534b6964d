package releases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

func TestIdle_OnlyLivingNodesWithAnotherVersion_AreCounted(t *testing.T) {
	own, next := wire.Version, wire.Version+1
	nodes := map[uint32]record.Node{
		1: {State: record.NodeAlive, Wire: own}, 2: {State: record.NodeDead, Wire: next}, 3: {State: record.NodeAlive},
	}
	if text := Idle(nodes); text != "" {
		t.Errorf("all are of one release: %q", text)
	}
	nodes[4] = record.Node{State: record.NodeAlive, Wire: next}
	if text, want := Idle(nodes), fmt.Sprintf("1 node of the cluster is of another release (its processes speak version %d, those of this node version %d)", next, own); !strings.HasPrefix(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
	nodes[5], nodes[6] = record.Node{State: record.NodeAlive, Wire: next}, record.Node{State: record.NodeAlive, Wire: next + 1}
	if text, want := Idle(nodes), fmt.Sprintf("3 nodes of the cluster are of another release (their processes speak version %d or %d,", next, next+1); !strings.HasPrefix(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
}
