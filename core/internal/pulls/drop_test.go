package pulls

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// Replicas are dropped when room is needed, and the owner's node knows. The last copy is kept.
func TestReplicas_RoomIsNeeded_AreDroppedNotWritten(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2, 3)
	a, b := w.nodes[1], w.nodes[2]
	var list []ids.Object
	for range 4 {
		id := a.id()
		list = append(list, id)
		w.nodes[3].put(&process{}, id, 15*mib)
		c := &process{}
		b.get(c, id, 15*mib)
		b.unpin(c, id)
	}
	own := b.id()
	b.put(&process{}, own, 60*mib)
	b.locked(func() {
		st := b.store.Stats()
		if st.More["spill_objects"] != 0 || st.More["file_objects"] != 0 || len(b.p.held) == 4 {
			t.Errorf("%+v, holds %d", st, len(b.p.held))
		}
	})
	left := 0
	for _, id := range list {
		a.locked(func() {
			if !a.p.dir.Drop(id, 0, 3) {
				t.Error("another version may not be dropped")
			}
		})
		b.locked(func() {
			if b.p.held[id] != nil {
				left++
			}
		})
	}
	// Node 3 dies: what node 2 has left is the last copy.
	w.kill(3)
	c := &process{}
	b.put(c, b.id(), 60*mib)
	b.locked(func() {
		if n := b.store.Stats().More["spill_objects"]; n < uint64(left) {
			t.Errorf("%d objects were written to disk, and %d are the last copies", n, left)
		}
	})
	have := 0
	for _, id := range list {
		if x := receive(t, b.ask(c, id, Get)); x.err == nil {
			have++
			b.same(x, id, 15*mib)
			b.unpin(c, id)
		}
	}
	if have != left {
		t.Errorf("%d objects are there, want %d", have, left)
	}
}
