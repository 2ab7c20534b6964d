package pulls

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

func (n *node) more(name string) (v uint64) {
	n.locked(func() { v = n.store.Stats().More[name] })
	return v
}

// fillUp makes objects of so many bytes until some are on disk only, and returns those.
func (n *node) fillUp(size uint64) (spilled []ids.Object) {
	var all []ids.Object
	for range 6 {
		id := n.id()
		all = append(all, id)
		n.put(&process{}, id, size)
	}
	n.locked(func() {
		for _, id := range all {
			if c, _, ok := n.store.HoldSpilled(id); ok {
				c.Release()
				spilled = append(spilled, id)
			}
		}
	})
	if len(spilled) == 0 {
		n.w.t.Fatal("nothing is spilled")
	}
	return spilled
}

// An object that is on disk only is read there: it takes no room at the node that has it.
func TestServe_SpilledObject_IsReadWhereItLies(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2, 3)
	a, b, c := w.nodes[1], w.nodes[2], w.nodes[3]
	const size = 25*mib + 3
	for _, id := range a.fillUp(size) {
		for _, n := range []*node{b, c} {
			reader := &process{}
			n.get(reader, id, size)
			n.unpin(reader, id)
		}
		a.free(&process{}, id)
	}
	if n := a.more("restore_objects"); n != 0 {
		t.Errorf("%d objects were brought back", n)
	}
}

// A freed object goes from the disk when nobody reads it there any more, and who reads it hears that it was freed.
func TestServe_SpilledObject_FreedWhileRead_Goes(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	id := a.fillUp(25 * mib)[0]
	g := w.gated(2, 1, 9*mib)
	got := b.ask(&process{}, id, Get)
	receive(t, g.at)
	a.free(&process{}, id)
	if x := receive(t, got); fault.CodeOf(x.err) != fault.ObjectLost {
		t.Errorf("got %v", x.err)
	}
	b.empty()
}

// A copy on disk that has changed is not sent: the object is lost.
func TestServe_SpilledObjectIsDamaged_IsLost(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	id := a.fillUp(25 * mib)[0]
	files, err := filepath.Glob(filepath.Join(a.dir, "*", "objects-*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("damage"), 10*mib); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if err := b.fails(&process{}, id); fault.CodeOf(err) != fault.ObjectLost {
		t.Errorf("got %v", err)
	}
	b.empty()
}

// Only whole chunks are read from a copy on disk.
func TestServe_SpilledObject_PartIsNoChunk_IsNotReadThere(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2)
	a := w.nodes[1]
	id := a.fillUp(25 * mib)[0]
	a.locked(func() { a.p.enter(id) })
	var s server
	a.locked(func() {
		s = server{p: a.p}
		q := &request{kind: askChunk, id: id, version: a.p.held[id].version, off: 5, n: 7}
		if _, done := s.lookOnDisk(q); done != nil {
			t.Error("bytes 5 to 12 are a chunk")
		}
		q.off, q.n = 24*mib, 8*mib
		if _, done := s.lookOnDisk(q); done != nil {
			t.Error("a chunk ends behind the object")
		}
	})
}

// An object that is compressed on disk is brought back for another node.
func TestServe_SpilledObjectIsCompressed_IsBroughtBack(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2)
	w.data = shrinking
	a, b := w.nodes[1], w.nodes[2]
	writer := &process{}
	var list []ids.Object
	for range 6 {
		list = append(list, a.id())
		a.put(writer, list[len(list)-1], 25*mib)
	}
	a.locked(func() {
		if a.store.Stats().More["spilled_objects"] == 0 {
			t.Error("nothing is spilled")
		}
	})
	for _, id := range list {
		c := &process{}
		b.get(c, id, 25*mib)
		b.unpin(c, id)
	}
	b.locked(func() {
		if n := b.store.Stats().More["spill_objects"]; n > 0 {
			t.Errorf("%d replicas were written to disk", n)
		}
	})
}
