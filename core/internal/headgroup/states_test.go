package headgroup

import (
	"testing"

	"github.com/eagleray/eagleray/raftstate"
)

// states are the states of the heads a, b and c, in memory. The test closes them.
type states struct {
	t      *testing.T
	o      raftstate.Options
	net    *raftstate.MemoryNet
	nodes  map[string]*raftstate.Node
	stores map[string]raftstate.Stores
}

func newStates(t *testing.T, o raftstate.Options) *states {
	t.Helper()
	ids := []string{"a", "b", "c"}
	w := &states{t: t, o: o, net: raftstate.NewMemoryNet(ids...), nodes: map[string]*raftstate.Node{}, stores: map[string]raftstate.Stores{}}
	for _, id := range ids {
		w.stores[id] = raftstate.NewMemoryStores()
		w.open(id)
	}
	return w
}

// open opens a state, again after it was closed: then it is that of its last snapshot, until it hears a leader.
func (w *states) open(id string) {
	w.t.Helper()
	o := w.o
	o.Stores = w.stores[id]
	n, err := w.net.Open(id, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.nodes[id] = n
}
