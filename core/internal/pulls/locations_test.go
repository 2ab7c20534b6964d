package pulls

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// process returns the connection of a process of the node that asks where objects are.
func (n *node) process() *wire.Peer {
	here, there := pair(n.w.t)
	daemon := wire.NewPeer(there, func(m *wire.Message) {
		n.locked(func() {
			if err := n.p.Locate(m); err != nil {
				_ = m.Fail(err)
			}
		})
	}, nil)
	p := wire.NewPeer(here, func(*wire.Message) {}, nil)
	daemon.Start()
	p.Start()
	n.w.t.Cleanup(daemon.Close)
	n.w.t.Cleanup(p.Close)
	return p
}

// A process may ask about more objects than one message between nodes names. What the nodes say to each other are maps, to which
// a later release may add.
func TestLocate_ManyObjectsOfAnotherNode_AreAskedInParts(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	var q wire.ObjRefs
	for range linkmsg.MaxObjects {
		q.ObjectIDs = append(q.ObjectIDs, a.id().Raw())
	}
	there, here := a.id(), b.id()
	a.put(&process{}, there, mib)
	b.put(&process{}, here, 2*mib)
	q.ObjectIDs = append(q.ObjectIDs, there.Raw(), here.Raw())
	var found wire.ObjLocations
	if err := b.process().Call(t.Context(), wire.TObjWhere, q, &found); err != nil {
		t.Fatal(err)
	}
	last := len(found.List) - 1
	if last != linkmsg.MaxObjects+1 || found.List[0].Size != 0 || found.List[last-1].Size != mib || found.List[last].Size != 2*mib {
		t.Errorf("%d objects, the last ones %+v", last+1, found.List[max(0, last-1):])
	}
	w.locked(func() {
		if len(w.arrays) > 0 {
			t.Errorf("bodies that are no maps: %v", w.arrays)
		}
	})
}

// An object that is being written is where it is written, on this node or on another one. When it is written it is there whole.
func TestLocate_ObjectIsWritten_IsWithItsWriter(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2)
	a := w.nodes[1]
	for _, writer := range []*node{a, w.nodes[2]} {
		id, c := a.id(), &process{}
		wants := func(making bool) {
			t.Helper()
			a.locked(func() {
				if h := a.p.holders(id); len(h.Nodes) != 1 || h.Nodes[0] != writer.number || h.Size != mib || h.Making != making {
					t.Errorf("node %d writes it: %+v", writer.number, h)
				}
			})
		}
		if _, err := writer.create(c, id, mib); err != nil {
			t.Fatal(err)
		}
		wants(true)
		writer.seal(c, id)
		if writer != a {
			writer.handled(a.number)
		}
		wants(false)
	}
	a.locked(func() {
		if h := a.p.holders(a.id()); len(h.Nodes) != 0 || h.Making {
			t.Errorf("nobody writes it: %+v", h)
		}
	})
}
