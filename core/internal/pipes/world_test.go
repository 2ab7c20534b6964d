package pipes

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// patience bounds every wait for what must come.
const patience = 30 * time.Second

// world is a cluster of two nodes in one process.
type world struct {
	t    testing.TB
	a, b *node

	mu      sync.Mutex
	streams []net.Conn // all that were opened, both ends
}

// node is one of them, without a daemon.
type node struct {
	w       *world
	number  uint32
	dir     string
	pipes   *Pipes
	guests  chan guest
	refused chan error

	mu    sync.Mutex
	alive map[ids.Owner]bool
	asked int                                                             // how often it was asked for a socket
	page  func(guest ids.Owner, lease uint64) (slot, page int, err error) // nil: there is none
}

type guest struct {
	stream net.Conn
	hello  *wire.Hello
}

func newWorld(t testing.TB, linger time.Duration) *world {
	t.Helper()
	w := &world{t: t}
	w.a, w.b = w.newNode(1, linger), w.newNode(2, linger)
	return w
}

func (w *world) newNode(number uint32, linger time.Duration) *node {
	w.t.Helper()
	dir, err := os.MkdirTemp("", "er") // t.TempDir's names are too long for a socket's path
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { os.RemoveAll(dir) })
	n := &node{w: w, number: number, dir: dir, alive: map[ids.Owner]bool{}, guests: make(chan guest, 9), refused: make(chan error, 99)}
	n.pipes = New(Options{Node: number, Network: n, Here: n, Linger: linger, Refused: func(err error) { n.refused <- err }})
	w.t.Cleanup(n.pipes.Close)
	return n
}

// Open implements Network.
func (n *node) Open(_ context.Context, target ids.Owner) (net.Conn, error) {
	if target.Node() != 1 && target.Node() != 2 {
		return nil, errors.New("it is dead")
	}
	here, there := n.w.pair()
	n.w.keep(here, there)
	to := n.w.a
	if target.Node() == 2 {
		to = n.w.b
	}
	to.pipes.Far(there, n.number, target)
	return here, nil
}

func (w *world) keep(cs ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams = append(w.streams, cs...)
}

// cut breaks all streams, as the death of a node does.
func (w *world) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range slices.Backward(w.streams) { // the far end first: it must not see that the near one has closed the stream
		c.Close()
	}
}

// Socket implements Here.
func (n *node) Socket(o ids.Owner) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	return n.path(o), n.alive[o]
}

// Page implements Here.
func (n *node) Page(guest ids.Owner, lease uint64) (slot, page int, err error) {
	n.mu.Lock()
	f := n.page
	n.mu.Unlock()
	if f == nil {
		return 0, -1, nil
	}
	return f(guest, lease)
}

// Guest implements Here.
func (n *node) Guest(stream net.Conn, h *wire.Hello) error {
	n.guests <- guest{stream, h}
	return nil
}

func (n *node) path(o ids.Owner) string { return filepath.Join(n.dir, o.String()) }

func (n *node) lives(o ids.Owner, alive bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.alive[o] = alive
}

// dies has the daemon say that a process is gone.
func (n *node) dies(o ids.Owner) {
	n.lives(o, false)
	n.pipes.Left(o)
}

// process makes a process of the node that does not listen.
func (n *node) process() ids.Owner {
	o := ids.NewWorkerOn(n.number).Owner()
	n.lives(o, true)
	return o
}

// listens makes a process of the node and what it listens at.
func (n *node) listens() (ids.Owner, *net.UnixListener) {
	o := n.process()
	return o, n.listen(o)
}

func (n *node) listen(o ids.Owner) *net.UnixListener {
	n.w.t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: n.path(o), Net: "unix"})
	if err != nil {
		n.w.t.Fatal(err)
	}
	n.w.t.Cleanup(func() { l.Close() })
	return l
}

// pair returns the two ends of a connection.
func (w *world) pair() (a, b *net.UnixConn) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	return conn(fds[0]), conn(fds[1])
}

func conn(fd int) *net.UnixConn {
	f := os.NewFile(uintptr(fd), "conn")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		panic(err)
	}
	return c.(*net.UnixConn)
}

// hello is what a process says to another one.
func hello(from ids.Owner, role string) wire.Hello {
	return wire.Hello{Version: wire.Version, Role: role, OwnerID: from[:], Addr: wire.AddressOf(from), LeaseID: 5, Slot: 3}
}

// reaches has a process of a node begin a pipe, and returns its end.
func (n *node) reaches(target ids.Owner, first []byte) *net.UnixConn {
	c, near := n.w.pair()
	n.w.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	n.pipes.Near(near, target)
	if len(first) > 0 {
		if _, err := c.Write(first); err != nil {
			n.w.t.Error(err)
		}
	}
	return c
}

// calls begins a pipe with a proper hello.
func (n *node) calls(from, target ids.Owner, role string) *net.UnixConn {
	n.w.t.Helper()
	b, err := wire.AppendMessage(nil, wire.Request, wire.THello, 1, 0, hello(from, role))
	if err != nil {
		n.w.t.Fatal(err)
	}
	return n.reaches(target, b)
}

// accept takes the next connection of a process.
func accept(t testing.TB, l *net.UnixListener) (*net.UnixConn, *wire.Hello) {
	t.Helper()
	_ = l.SetDeadline(time.Now().Add(patience))
	u, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	h, err := wire.ReadHello(u)
	if err != nil {
		t.Fatal(err)
	}
	_ = u.SetDeadline(time.Now().Add(patience))
	return u, h
}

// joined returns the two ends of a pipe from a process of a to one of b.
func (w *world) joined(role string) (caller, target *net.UnixConn, from, to ids.Owner) {
	w.t.Helper()
	from = w.a.process()
	to, l := w.b.listens()
	caller = w.a.calls(from, to, role)
	target, h := accept(w.t, l)
	if h.Role != role || ids.Owner(h.OwnerID) != from || h.LeaseID != 5 || h.Slot != 0 {
		w.t.Errorf("the target hears %+v", h)
	}
	return caller, target, from, to
}

func say(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t testing.TB, c net.Conn, text string) {
	t.Helper()
	b := make([]byte, len(text))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Fatalf("got %q, %v, want %q", b, err, text)
	}
}

// ends checks that a connection has something left to read, and then its end.
func ends(t testing.TB, c net.Conn, left string) {
	t.Helper()
	hear(t, c, left)
	if n, err := c.Read(make([]byte, 9)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d bytes and %v, want the end", n, err)
	}
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// over waits until no end of a pipe is left.
func (w *world) over() {
	w.t.Helper()
	eventually(w.t, "all pipes have ended", func() bool { return w.a.pipes.Len()+w.b.pipes.Len() == 0 })
}

// refusal waits for what a node has refused.
func (n *node) refusal() string {
	n.w.t.Helper()
	select {
	case err := <-n.refused:
		return err.Error()
	case <-time.After(patience):
		n.w.t.Fatal("nothing was refused")
		return ""
	}
}

// forgetStreams lets go of the streams that have ended.
func (w *world) forgetStreams() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams = nil
}
