package pulls

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/spill"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

const mib = 1 << 20

// world is a cluster of nodes in one process, each with a store and Pulls.
type world struct {
	t     testing.TB
	nodes map[uint32]*node
	data  func(id ids.Object, size uint64) []byte // what objects have in them

	mu    sync.Mutex
	peers map[[2]uint32]*wire.Peer
	dead  map[uint32]bool
	bulks []net.Conn
	// arrays are the messages between nodes whose bodies were no maps.
	arrays []wire.Type
	// change may replace the end of a bulk connection that the puller gets.
	change func(from, to uint32, c net.Conn) (net.Conn, error)
}

// node is one of them.
type node struct {
	w       *world
	number  uint32
	dir     string // of the session
	mu      sync.Mutex
	store   *objects.Store
	arena   *store.Mapping
	p       *Pulls
	owner   ids.Owner // of a process that lives here
	dead    map[ids.Owner]bool
	n       uint64
	refused []error
	opened  int         // bulk connections that it has dialed
	links   *link.Links // nil: the world makes its connections
}

// process is a process of a node.
type process struct{ gone bool }

func (c *process) Gone() bool { return c.gone }

func newWorld(t testing.TB, arena uint64, numbers ...uint32) *world {
	w := &world{t: t, data: data, nodes: map[uint32]*node{}, peers: map[[2]uint32]*wire.Peer{}, dead: map[uint32]bool{}}
	for _, n := range numbers {
		w.nodes[n] = w.newNode(n, arena)
	}
	t.Cleanup(w.close)
	return w
}

func (w *world) newNode(number uint32, bytes uint64) *node {
	t := w.t
	n := &node{w: w, number: number, dir: t.TempDir(), owner: ids.NewWorkerOn(number).Owner(), dead: map[ids.Owner]bool{}}
	var err error
	n.store, err = objects.Open(objects.Options{
		Bytes: bytes, Dir: n.dir, Lock: &n.mu, Notify: notify{n}, Log: slog.New(slog.DiscardHandler), Spill: objects.SpillOptions{FS: spill.Disk{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if n.arena, err = store.Map(n.store.FD(), bytes); err != nil {
		t.Fatal(err)
	}
	n.p = New(Options{
		Node: number, Network: n, Store: n.store, Bytes: bytes, Lock: &n.mu, Lives: func(o ids.Owner) bool { return !n.dead[o] },
		Refused: func(err error) { w.locked(func() { n.refused = append(n.refused, err) }) }, Log: slog.New(slog.DiscardHandler),
	})
	return n
}

func (w *world) close() {
	w.locked(func() {
		for _, p := range w.peers {
			p.Close()
		}
		for _, c := range w.bulks {
			c.Close()
		}
	})
	for _, n := range w.nodes {
		n.p.Close()
		_ = n.arena.Close()
		n.store.Close()
	}
}

func (w *world) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// notify is a daemon as its store sees it.
type notify struct{ n *node }

func (notify) LetGo(objects.Holder)             {}
func (notify) Freed(objects.Holder, ids.Object) {}
func (notify) Warn(objects.Holder, string)      {}
func (x notify) Lost(id ids.Object)             { x.n.p.Lost(id) }
func (x notify) MayDrop(list []ids.Object, answer func([]bool) []ids.Object) {
	x.n.p.MayDrop(list, answer)
}

// Control implements Network.
func (n *node) Control(to uint32) (*wire.Peer, error) {
	w := n.w
	if n.links != nil {
		k, err := n.links.To(to)
		if err != nil {
			return nil, err
		}
		return k.Control()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes[to] == nil || w.dead[to] || w.dead[n.number] {
		return nil, fmt.Errorf("node %d is dead", to)
	}
	if p := w.peers[[2]uint32{n.number, to}]; p != nil {
		return p, nil
	}
	a, b := pair(w.t)
	here := wire.NewPeer(a, func(m *wire.Message) { n.got(to, m) }, nil)
	there := wire.NewPeer(b, func(m *wire.Message) { w.nodes[to].got(n.number, m) }, nil)
	w.peers[[2]uint32{n.number, to}], w.peers[[2]uint32{to, n.number}] = here, there
	here.Start()
	there.Start()
	return here, nil
}

// got handles a message of another node, and notes whether a field could be added to it.
func (n *node) got(from uint32, m *wire.Message) {
	if len(m.Body) > 0 && m.Body[0]>>4 == 0x9 || len(m.Body) > 0 && (m.Body[0] == 0xdc || m.Body[0] == 0xdd) {
		n.w.locked(func() { n.w.arrays = append(n.w.arrays, m.Type) })
	}
	n.p.Handle(from, m)
}

// Bulk implements Network.
func (n *node) Bulk(ctx context.Context, to uint32) (net.Conn, error) {
	w := n.w
	if n.links != nil {
		k, err := n.links.To(to)
		if err != nil {
			return nil, err
		}
		return k.Bulk(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead[to] || w.nodes[to] == nil {
		return nil, errors.New("no way")
	}
	n.opened++
	a, b := pair(w.t)
	w.bulks = append(w.bulks, a, b)
	go w.nodes[to].p.Serve(n.number, b)
	if w.change != nil {
		return w.change(n.number, to, a)
	}
	return a, nil
}

// pair returns the two ends of a TCP connection.
func pair(t testing.TB) (a, b net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return nil, nil
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Error(err)
	} else if b, err = l.Accept(); err != nil {
		t.Error(err)
	}
	return a, b
}

// kill ends a node: its connections break, and the others hear of it.
func (w *world) kill(number uint32) {
	var ends []*wire.Peer
	w.locked(func() {
		w.dead[number] = true
		for k, p := range w.peers {
			if k[0] == number || k[1] == number {
				ends = append(ends, p)
				delete(w.peers, k)
			}
		}
	})
	for _, p := range ends {
		p.Close()
	}
	for _, n := range w.nodes {
		if n.number != number {
			n.p.NodeGone(number)
		}
	}
}

func (n *node) locked(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// id returns a new object of the process that lives on the node.
func (n *node) id() ids.Object {
	n.n++
	return ids.NewObject(n.n, n.owner, ids.JobOf(1), 1)
}

// last returns the object that id has returned last.
func (n *node) last() ids.Object { return ids.NewObject(n.n, n.owner, ids.JobOf(1), 1) }

// data is what an object of so many bytes has in it, unless the world says otherwise. It does not shrink when it is compressed.
func data(id ids.Object, size uint64) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(id.Count()), byte(id.Count() >> 8), byte(id.Owner().Node())}).Read(b)
	return b
}

// shrinking is data that shrinks when it is compressed.
func shrinking(id ids.Object, size uint64) []byte {
	b := make([]byte, size)
	r := rand.New(rand.NewPCG(id.Count(), uint64(id.Owner().Node())))
	for i := 0; i < len(b); i += 1024 {
		b[i] = byte(r.Uint32())
	}
	return b
}

// create makes room for an object, as the daemon does for a process.
func (n *node) create(c objects.Holder, id ids.Object, size uint64) (at objects.Place, err error) {
	done := make(chan error, 1)
	n.locked(func() {
		n.store.Create(c, id, size, func(got objects.Place, failed error) {
			if at = got; failed != nil {
				done <- failed
				return
			}
			n.p.Made(c, id, size, func(err error) { done <- err })
		})
	})
	err = receive(n.w.t, done)
	if err == nil && id.Owner().Node() != n.number {
		n.handled(id.Owner().Node())
	}
	return at, err
}

// handled waits until another node has handled what was told to it. The order of links gives the same promise to streams.
func (n *node) handled(by uint32) {
	if peer, err := n.Control(by); err == nil {
		_ = peer.Call(n.w.t.Context(), wire.TCensus, nil, nil) // which is refused
	}
}

// put writes an object.
func (n *node) put(c objects.Holder, id ids.Object, size uint64) {
	n.w.t.Helper()
	at, err := n.create(c, id, size)
	if err != nil {
		n.w.t.Fatal(err)
	}
	n.write(at, n.w.data(id, size))
	n.seal(c, id)
}

func (n *node) write(at objects.Place, b []byte) {
	n.w.t.Helper()
	var err error
	if at.Path == "" {
		err = n.arena.WriteAt(at.Off, b)
	} else {
		var f *os.File
		if f, err = os.OpenFile(at.Path, os.O_WRONLY, 0); err == nil {
			_, err = f.WriteAt(b, int64(at.Off))
			f.Close()
		}
	}
	if err != nil {
		n.w.t.Fatal(err)
	}
}

func (n *node) seal(c objects.Holder, id ids.Object) {
	n.w.t.Helper()
	n.locked(func() {
		if err := n.store.Seal(c, id); err != nil {
			n.w.t.Error(err)
		}
		n.p.Sealed(id)
	})
}

// pinned is an object as a process has got it.
type pinned struct {
	at   objects.Place
	size uint64
	err  error
}

// ask asks for an object, as the daemon does for a process.
func (n *node) ask(c objects.Holder, id ids.Object, prio Priority) <-chan pinned {
	got := make(chan pinned, 2)
	pin := func() {
		n.store.Pin(c, id, func(at objects.Place, size uint64, err error) { got <- pinned{at, size, err} })
	}
	n.locked(func() {
		if !n.p.Elsewhere(id) {
			pin()
			return
		}
		n.p.Want(c, id, prio, func(err error) {
			if err != nil {
				got <- pinned{err: err}
				return
			}
			pin()
		})
	})
	return got
}

// get asks for an object and compares it with what it must be.
func (n *node) get(c objects.Holder, id ids.Object, size uint64) {
	n.w.t.Helper()
	n.same(receive(n.w.t, n.ask(c, id, Get)), id, size)
}

func (n *node) same(got pinned, id ids.Object, size uint64) {
	n.w.t.Helper()
	if got.err != nil || got.size != size {
		n.w.t.Fatalf("node %d gets object %d with %d bytes, %v", n.number, id.Count(), got.size, got.err)
	}
	var b []byte
	var err error
	if got.at.Path == "" {
		b, err = n.arena.Slice(got.at.Off, size)
	} else {
		var f *os.File
		if f, err = os.Open(got.at.Path); err == nil {
			b = make([]byte, size)
			_, err = f.ReadAt(b, int64(got.at.Off))
			f.Close()
		}
	}
	if err != nil || !bytes.Equal(b, n.w.data(id, size)) {
		n.w.t.Fatalf("node %d: object %d has other bytes, %v", n.number, id.Count(), err)
	}
}

// fails asks for an object and returns why there is none.
func (n *node) fails(c objects.Holder, id ids.Object) error {
	n.w.t.Helper()
	got := receive(n.w.t, n.ask(c, id, Get))
	if got.err == nil {
		n.w.t.Fatalf("node %d gets object %d", n.number, id.Count())
	}
	return got.err
}

// free frees objects of the node's process, as the daemon does.
func (n *node) free(c objects.Holder, list ...ids.Object) {
	n.locked(func() {
		for _, id := range list {
			n.store.Free(c, id)
			n.p.Freed(id)
		}
	})
}

func (n *node) unpin(c objects.Holder, id ids.Object) {
	n.locked(func() { n.store.Unpin(c, id) })
}

// empty waits until a node has nothing of any object.
func (n *node) empty() {
	n.w.t.Helper()
	var last string
	for end := time.Now().Add(soon); ; time.Sleep(time.Millisecond) {
		n.locked(func() {
			sizes, left := n.p.Sizes(), 0
			for _, k := range sizes {
				left += k
			}
			st := n.store.Stats()
			if last = ""; left+st.Objects+int(st.Used) > 0 {
				last = fmt.Sprint(st, sizes)
			}
		})
		if last == "" {
			return
		}
		if time.Now().After(end) {
			n.w.t.Fatalf("node %d is not empty: %s", n.number, last)
		}
	}
}

const soon = 30 * time.Second

func receive[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(soon):
		t.Fatal("nothing came")
	}
	return v
}
