package pulls

import (
	"errors"
	"net"
	"slices"
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

// Pulls take at most a quarter of the arena, the most urgent ones first.
func TestAdmission_AQuarterOfTheArena_ByPriority(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	var list []ids.Object
	for range 6 {
		list = append(list, a.id())
		a.put(&process{}, list[len(list)-1], 15*mib)
	}
	g := w.gated(2, 1, mib)
	var mu sync.Mutex
	var order []int
	var all []<-chan pinned
	want := func(i int, prio Priority) {
		done := make(chan pinned, 1)
		all = append(all, done)
		c := &process{}
		b.locked(func() {
			b.p.Want(c, list[i], prio, func(err error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
				done <- pinned{err: err}
			})
		})
	}
	want(0, Prefetch)
	receive(t, g.at)
	hold := make(chan struct{})
	w.locked(func() {
		w.change = func(_, _ uint32, c net.Conn) (net.Conn, error) {
			return &gate{Conn: c, open: hold, at: make(chan struct{})}, nil
		}
	})
	want(1, Prefetch) // 30 of 32 MiB
	for i, prio := range []Priority{Prefetch, Argument, Get, Get} {
		want(2+i, prio)
	}
	b.handled(1) // what was asked before is answered
	b.locked(func() {
		if b.p.underway != 30*mib || b.p.admitted != 2 || len(b.p.queue) != 4 {
			t.Errorf("%d bytes of %d pulls are under way, %d wait", b.p.underway, b.p.admitted, len(b.p.queue))
		}
		b.p.Want(&process{}, list[2], Get, func(error) {}) // more urgent from now on
	})
	close(g.open) // the others go on one after the other, because object 1 takes the rest of the quarter
	for i := range all {
		if i == 1 {
			continue
		}
		if x := receive(t, all[i]); x.err != nil {
			t.Error(x.err)
		}
	}
	close(hold)
	if x := receive(t, all[1]); x.err != nil {
		t.Error(x.err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []int{0, 2, 4, 5, 3, 1}; !slices.Equal(order, want) {
		t.Errorf("they came in the order %v, want %v", order, want)
	}
	b.locked(func() {
		if b.p.underway != 0 || b.p.admitted != 0 {
			t.Errorf("%d bytes of %d pulls are still under way", b.p.underway, b.p.admitted)
		}
	})
}

// A full store makes a pull wait. What finds no room in memory goes to a file.
func TestPull_StoreIsFull_WaitsOrUsesAFile(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	id := a.id()
	a.put(&process{}, id, 30*mib)
	holder := &process{}
	own := b.id()
	b.put(holder, own, 60*mib)
	b.get(holder, own, 60*mib) // pinned: it cannot leave
	reader := &process{}
	got := receive(t, b.ask(reader, id, Get))
	b.same(got, id, 30*mib)
	if got.at.Path == "" {
		t.Error("it is in a full arena")
	}
	// Other nodes read it from there.
	var again <-chan pinned
	a.locked(func() { a.store.Supersede(&process{}, id); a.p.Lost(id) })
	again = a.ask(reader, id, Get)
	a.same(receive(t, again), id, 30*mib)
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

// A question whether objects are there is answered by the nodes of their owners.
func TestMissing_AsksTheOwnersNodes(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2, 3)
	a, b := w.nodes[1], w.nodes[2]
	local, there, being, gone, dead := a.id(), a.id(), a.id(), a.id(), w.nodes[3].id()
	a.put(&process{}, local, mib)
	b.put(&process{}, there, mib)
	if _, err := b.create(&process{}, being, mib); err != nil {
		t.Fatal(err)
	}
	w.kill(3)
	for _, n := range []*node{a, b} {
		answer := make(chan []string, 1)
		n.locked(func() {
			var ask [][]byte
			for _, id := range []ids.Object{local, there, being, gone, dead} {
				if !n.store.Has(id) {
					ask = append(ask, id.Raw())
				}
			}
			n.p.Missing(append(ask, []byte("no id")), func(missing [][]byte) {
				var list []string
				for _, raw := range missing {
					list = append(list, ids.Object(raw).String())
				}
				answer <- list
			})
		})
		got := receive(t, answer)
		if len(got) != 2 || !strings.Contains(strings.Join(got, " "), gone.String()) || !strings.Contains(strings.Join(got, " "), dead.String()) {
			t.Errorf("node %d: %d objects are missing", n.number, len(got))
		}
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
