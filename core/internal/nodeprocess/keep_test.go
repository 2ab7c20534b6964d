package nodeprocess

import (
	"testing"

	"github.com/eagleray/eagleray/core/record"
)

// A head that has just begun to lead has not heard of all nodes: what a former one has said of a node still holds.
func TestKeep_TheVersionIsNotSaid_TheOneBeforeStays(t *testing.T) {
	m := &member{nodes: map[uint32]record.Node{}}
	m.keep(record.Node{Number: 4, State: record.NodeAlive, Wire: 9})
	m.keep(record.Node{Number: 4, State: record.NodeAlive})
	if n, _ := m.nodeOf(4); n.Wire != 9 {
		t.Errorf("version %d, want 9", n.Wire)
	}
}
