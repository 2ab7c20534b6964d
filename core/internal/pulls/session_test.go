package pulls

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// reconnect loses the session between two living nodes and begins a new one. It returns their ends of the session before,
// which still carry messages.
func (w *world) reconnect(x, y uint32) (oldX, oldY *wire.Peer) {
	oldX, oldY = w.peers[[2]uint32{x, y}], w.peers[[2]uint32{y, x}]
	w.nodes[x].p.NodeGone(y)
	w.nodes[y].p.NodeGone(x)
	c, d := pair(w.t)
	newX := wire.NewPeer(c, func(m *wire.Message) { w.nodes[x].p.Handle(y, m) }, nil)
	newY := wire.NewPeer(d, func(m *wire.Message) { w.nodes[y].p.Handle(x, m) }, nil)
	w.locked(func() { w.peers[[2]uint32{x, y}], w.peers[[2]uint32{y, x}] = newX, newY })
	w.nodes[x].p.Connected(y, newX)
	w.nodes[y].p.Connected(x, newY)
	newX.Start()
	newY.Start()
	w.t.Cleanup(func() { oldX.Close(); oldY.Close() })
	return oldX, oldY
}

// Two nodes that live lose their session. Each gives up what it has of the other one's objects, and they begin anew. What was said
// in the session before and is read late does not count.
func TestSession_IsLostBetweenLivingNodes_BothBeginAnew(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	writer, reader := &process{}, &process{}
	made, own := a.id(), a.id()
	b.put(writer, made, mib)
	a.put(writer, own, 2*mib)
	b.get(reader, own, 2*mib)
	b.unpin(reader, own)

	_, old := w.reconnect(1, 2)
	if err := a.fails(reader, made); fault.CodeOf(err) != fault.ObjectLost {
		t.Errorf("what the other node has made: %v", err)
	}
	b.empty()
	b.get(reader, own, 2*mib)
	b.unpin(reader, own)
	b.put(writer, made, mib)

	var version uint64
	b.locked(func() { version = b.p.held[made].version })
	for _, n := range []linkmsg.ObjectNews{
		{What: linkmsg.ObjectGone, List: []linkmsg.ObjectVersion{{ID: made, Version: version}}},
		{What: linkmsg.ObjectMade, List: []linkmsg.ObjectVersion{{ID: own, Version: 99, Size: 5}}},
	} {
		if err := old.Push(linkmsg.TObjectNews, &n); err != nil {
			t.Fatal(err)
		}
	}
	_ = old.Call(t.Context(), wire.TCensus, nil, nil) // which is refused, behind the news
	a.get(reader, made, mib)
	a.get(reader, own, 2*mib)
	a.unpin(reader, made)
	a.unpin(reader, own)
	a.free(writer, made, own)
	a.empty()
	b.empty()
}

// A node tells of objects in a new session before it has heard that the session before was lost. When it hears so it frees the objects, and
// takes back what it has told.
func TestSession_NewsComeBeforeTheLossIsKnown_AreTakenBack(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	made, wanted := a.id(), a.id()
	writer := &process{}
	if _, err := b.create(writer, made, mib); err != nil {
		t.Fatal(err)
	}
	if _, err := a.create(&process{}, wanted, mib); err != nil { // it is being written, so the answer waits
		t.Fatal(err)
	}
	got := b.ask(&process{}, wanted, Get)
	b.handled(1)
	b.p.NodeGone(1)
	if x := receive(t, got); fault.CodeOf(x.err) != fault.OwnerDied {
		t.Errorf("got %v", x.err)
	}
	b.handled(1)
	if err := a.fails(&process{}, made); fault.CodeOf(err) != fault.ObjectLost {
		t.Errorf("got %v", err)
	}
	a.locked(func() {
		if n := len(a.p.asks); n != 0 {
			t.Errorf("%d questions wait", n)
		}
	})
	b.locked(func() { b.store.DropHolder(writer, ids.Owner{}) }) // which was still writing
	b.empty()
}
