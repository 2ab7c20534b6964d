package pulls

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// The end of a process frees what it owned on all nodes, and so does the end of its node.
func TestOwnerEnds_ItsObjectsGo(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2, 3)
	a, b, c := w.nodes[1], w.nodes[2], w.nodes[3]
	worker := &process{}
	one, two := a.id(), a.id()
	b.put(worker, one, mib)
	c.get(worker, one, mib)
	c.unpin(worker, one)
	if _, err := b.create(worker, two, mib); err != nil { // it is being written
		t.Fatal(err)
	}
	a.locked(func() {
		a.dead[a.owner] = true
		a.p.OwnerGone(a.owner)
	})
	late := a.id()
	b.put(worker, late, mib) // its owner is dead, which node 2 does not know
	b.seal(worker, two)
	for _, n := range w.nodes {
		n.empty()
	}
	own := b.id()
	c.put(worker, own, mib)
	w.kill(2)
	c.empty()
	if _, err := c.create(worker, b.id(), mib); fault.CodeOf(err) != fault.OwnerDied {
		t.Errorf("room for a dead node's process: %v", err)
	}
	c.empty()
}

// A task runs again on another node: what it writes there counts, and the older version goes.
func TestVersions_TheNewestCounts(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2, 3)
	a, b, c := w.nodes[1], w.nodes[2], w.nodes[3]
	worker, driver := &process{}, &process{}
	id := a.id()
	if _, err := b.create(worker, id, 3*mib); err != nil {
		t.Fatal(err)
	}
	got := a.ask(driver, id, Get) // waits for the seal
	c.put(worker, id, 4*mib)
	a.same(receive(t, got), id, 4*mib)
	b.seal(worker, id)
	b.empty()
	a.unpin(driver, id)
	// It is computed once more, at the owner's node, while node 2 reads it.
	g := w.gated(2, 3, mib)
	late := b.ask(worker, id, Get)
	receive(t, g.at)
	a.locked(func() { a.store.Supersede(driver, id) })
	a.put(driver, id, 5*mib)
	b.same(receive(t, late), id, 5*mib)
	c.empty()
	b.unpin(worker, id)
	a.free(driver, id)
	for _, n := range w.nodes {
		n.empty()
	}
}

// The process that writes an object dies: who waits for the object hears it.
func TestMade_WriterDies_ObjectIsLost(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	worker := &process{}
	id := a.id()
	if _, err := b.create(worker, id, mib); err != nil {
		t.Fatal(err)
	}
	got := a.ask(&process{}, id, Get)
	b.locked(func() { b.store.DropHolder(worker, ids.Owner{}) })
	if x := receive(t, got); fault.CodeOf(x.err) != fault.ObjectLost || !strings.Contains(x.err.Error(), "no node has a copy") {
		t.Errorf("got %v", x.err)
	}
	a.empty()
	b.empty()
}

// The owner's node knows of an object before whoever writes it can tell somebody.
func TestMade_IsKnownBeforeTheWriterGoesOn(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	for range 50 {
		id := a.id()
		if _, err := b.create(&process{}, id, 100<<10); err != nil {
			t.Fatal(err)
		}
		a.locked(func() {
			if !a.p.dir.Knows(id) {
				t.Error("the owner's node does not know what is being made")
			}
		})
	}
}
