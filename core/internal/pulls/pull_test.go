package pulls

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/objects"
)

// An argument goes to the node that runs the task, and the result, which that node writes, to the owner's node.
func TestPull_LargeObject_GoesBothWays(t *testing.T) {
	w := newWorld(t, 256*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	driver, worker := &process{}, &process{}
	argument, result := a.id(), a.id()
	const size = 100*mib + 12345
	a.put(driver, argument, size)
	b.get(worker, argument, size)
	b.put(worker, result, size)
	a.get(driver, result, size)
	a.get(driver, result, size) // from its own store
	if a.opened > fewStreams || b.opened > fewStreams {
		t.Errorf("%d and %d connections for one object each", a.opened, b.opened)
	}
	b.unpin(worker, argument)
	a.unpin(driver, result)
	a.free(driver, argument, result)
	a.empty()
	b.empty()
}

// gate is a connection whose owner waits before it reads more than some bytes.
type gate struct {
	net.Conn
	left int64
	open chan struct{} // closed: it reads on
	at   chan struct{} // closed when it waits
	once sync.Once
}

func (g *gate) Read(b []byte) (int, error) {
	if g.left <= 0 {
		g.once.Do(func() { close(g.at) })
		<-g.open
		return g.Conn.Read(b)
	}
	n, err := g.Conn.Read(b[:min(int64(len(b)), g.left)])
	g.left -= int64(n)
	return n, err
}

// Close implements net.Conn. Who waits is woken.
func (g *gate) Close() error {
	select {
	case <-g.open:
	default:
		close(g.open)
	}
	return g.Conn.Close()
}

// gated holds the first bulk connection that a node opens to another one after some bytes.
func (w *world) gated(from, to uint32, after int64) *gate {
	g := &gate{left: after, open: make(chan struct{}), at: make(chan struct{})}
	w.change = func(f, o uint32, c net.Conn) (net.Conn, error) {
		if f == from && o == to && g.Conn == nil {
			g.Conn = c
			return g, nil
		}
		return c, nil
	}
	return g
}

func TestPull_FreedWhilePulled_EndsEverywhere(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	driver, worker := &process{}, &process{}
	id := a.id()
	a.put(driver, id, 20*mib)
	g := w.gated(2, 1, 9*mib)
	got := b.ask(worker, id, Get)
	receive(t, g.at)
	a.free(driver, id)
	if x := receive(t, got); fault.CodeOf(x.err) != fault.ObjectLost || !strings.Contains(x.err.Error(), "its owner has freed it") {
		t.Errorf("got %v", x.err)
	}
	a.empty()
	b.empty()
	if err := b.fails(worker, id); fault.CodeOf(err) != fault.ObjectLost {
		t.Errorf("a freed object: %v", err)
	}
	b.empty()
}

// Who waits for the same object shares a pull. When all who wait are gone, the pull ends.
func TestPull_NobodyWaits_Ends(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	driver, one, two := &process{}, &process{}, &process{}
	id := a.id()
	a.put(driver, id, 20*mib)
	g := w.gated(2, 1, 9*mib)
	b.ask(one, id, Get)
	receive(t, g.at)
	b.ask(two, id, Get)
	b.locked(func() {
		b.p.Left(one)
		if len(b.p.pulls) != 1 {
			t.Error("the pull ended though somebody waits")
		}
		b.p.Left(two)
	})
	b.empty()
	b.get(&process{}, id, 20*mib)
}

// A replica elsewhere takes the place of the node from which an object is being read.
func TestPull_HolderDies_GoesOnWithAnother(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2, 3)
	a, b, c := w.nodes[1], w.nodes[2], w.nodes[3]
	id := a.id()
	b.put(&process{}, id, 20*mib)
	driver := &process{}
	g := w.gated(3, 2, 9*mib)
	reader := &process{}
	got := c.ask(reader, id, Get)
	receive(t, g.at)
	a.get(driver, id, 20*mib)
	w.kill(2)
	c.same(receive(t, got), id, 20*mib)
	a.locked(func() {
		if h := a.p.held[id]; h == nil || h.replica {
			t.Error("the replica of the owner's node was not promoted")
		}
	})
	a.unpin(driver, id)
	c.unpin(reader, id)
	a.free(driver, id)
	a.empty()
	c.empty()
}

// A node that has begun serves what it has: the first node sends a large object once.
func TestPull_ManyNodes_ReadFromEachOther(t *testing.T) {
	w := newWorld(t, 192*mib, 1, 2, 3, 4)
	a := w.nodes[1]
	driver := &process{}
	id := a.id()
	const size = 65 * mib
	a.put(driver, id, size)
	var got []<-chan pinned
	var nodes []*node
	for n := uint32(2); n <= 4; n++ {
		nodes = append(nodes, w.nodes[n])
		got = append(got, w.nodes[n].ask(&process{}, id, Get))
	}
	for i, n := range nodes {
		n.same(receive(t, got[i]), id, size)
	}
	w.locked(func() {
		opened := nodes[0].opened + nodes[1].opened + nodes[2].opened
		if want := fewStreams + 2; opened != want { // one of them reads from the node that has it, the others from each other
			t.Errorf("%d connections, want %d", opened, want)
		}
	})
	a.locked(func() {
		if a.p.dir.Len() != 1 {
			t.Errorf("%v", a.p.Sizes())
		}
	})
}

// flip changes a byte of what it reads.
type flip struct {
	net.Conn
	at   int64
	read int64
}

func (f *flip) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	if f.read <= f.at && f.at < f.read+int64(n) {
		b[f.at-f.read] ^= 0x40
	}
	f.read += int64(n)
	return n, err
}

// A changed byte is noticed wherever it is, and read again.
func TestPull_ByteChanges_IsReadAgain(t *testing.T) {
	for _, at := range []int64{0, 4, headSize + 77, headSize + 3*mib, headSize + 8*mib + 1, headSize + 8*mib + sumSize, headSize + 8*mib + sumSize + 5} {
		w := newWorld(t, 128*mib, 1, 2)
		a, b := w.nodes[1], w.nodes[2]
		id := a.id()
		a.put(&process{}, id, 9*mib)
		flips := 0
		w.change = func(_, _ uint32, c net.Conn) (net.Conn, error) {
			if flips++; flips == 1 {
				return &flip{Conn: c, at: at}, nil
			}
			return c, nil
		}
		b.get(&process{}, id, 9*mib)
		if flips < 2 {
			t.Errorf("byte %d: it was read in one go", at)
		}
	}
}

// A node that cannot be reached for a while is tried until it can, or until it is dead.
func TestPull_NoConnection_IsTriedAgain(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	first, second := a.id(), a.id()
	a.put(&process{}, first, mib)
	a.put(&process{}, second, mib)
	tries := 0
	w.change = func(_, _ uint32, c net.Conn) (net.Conn, error) {
		if tries++; tries < 4 {
			return nil, errors.New("no path")
		}
		return c, nil
	}
	b.get(&process{}, first, mib)
	if tries != 4 {
		t.Errorf("%d tries", tries)
	}
	tries = -1000
	b.p.conns.drop(1)
	got := b.ask(&process{}, second, Get)
	w.kill(1)
	if x := receive(t, got); fault.CodeOf(x.err) != fault.OwnerDied || !strings.Contains(x.err.Error(), "the node with number 1, on which its owner ran, is dead") {
		t.Errorf("got %v", x.err)
	}
	if err := b.fails(&process{}, second); fault.CodeOf(err) != fault.OwnerDied {
		t.Errorf("an object of a dead node: %v", err)
	}
}

// Without a network nothing is elsewhere, and nothing is told.
func TestPulls_NoNetwork_DoesNothing(t *testing.T) {
	w := newWorld(t, 80*mib, 1)
	n := w.nodes[1]
	n.p.o.Network = nil
	c := &process{}
	id := n.id()
	n.put(c, id, mib)
	n.get(c, id, mib)
	other := ids.NewObject(1, ids.NewWorkerOn(9).Owner(), ids.JobOf(1), 1)
	n.locked(func() {
		if n.p.Elsewhere(other) || n.p.Elsewhere(n.id()) || len(n.p.held)+n.p.dir.Len() > 0 {
			t.Error("something is elsewhere")
		}
		n.p.Missing([][]byte{other.Raw()}, func(missing [][]byte) {
			if len(missing) != 1 {
				t.Error("an object of another node is there")
			}
		})
		n.p.Made(c, other, 10, func(err error) {
			if err != nil || len(n.p.held) != 0 {
				t.Error(err)
			}
		})
		n.p.Lost(id)
		n.p.Left(c)
	})
	n.unpin(c, id)
	n.free(c, id)
	n.empty()
}

// Close ends what is under way.
func TestClose_PullUnderWay_Ends(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	id := a.id()
	a.put(&process{}, id, 20*mib)
	g := w.gated(2, 1, 9*mib)
	b.ask(&process{}, id, Get)
	receive(t, g.at)
	b.p.Close()
	b.p.Close()
	b.locked(func() {
		b.p.run(func() { t.Error("something is begun after Close") })
		b.p.MayDrop(nil, nil)
	})
}

var (
	_ Network        = (*node)(nil)
	_ objects.Notify = notify{}
)
