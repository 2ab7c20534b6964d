package transport

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// servedHost answers what it is asked, and keeps who has left.
type servedHost struct {
	asked chan ids.Owner
	left  chan ids.Owner
}

func newServedHost() *servedHost {
	return &servedHost{asked: make(chan ids.Owner, 100), left: make(chan ids.Owner, 100)}
}

func (h *servedHost) Asked(who ids.Owner, m *wire.Message) {
	h.asked <- who
	_ = m.Reply(nil)
}

func (h *servedHost) Left(who ids.Owner) { h.left <- who }

// ends returns both ends of a connection.
func ends(t *testing.T) (here, there *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	made := func(fd int) *net.UnixConn {
		f := osFile(fd)
		defer f.Close()
		c, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c.(*net.UnixConn)
	}
	return made(fds[0]), made(fds[1])
}

// handedOver returns a connection as another process gets it, and closes it here.
func handedOver(t *testing.T, c net.Conn) *net.UnixConn {
	t.Helper()
	f, err := c.(*net.UnixConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c.Close()
	n, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n.(*net.UnixConn)
}

// asker is the other end of a connection, which asks.
func asker(t *testing.T, u *net.UnixConn) *wire.Peer {
	t.Helper()
	p := wire.NewPeer(u, refuse, func(error) {})
	p.Start()
	t.Cleanup(p.Close)
	return p
}

func ask(t *testing.T, p *wire.Peer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.Call(ctx, wire.TRegistered, nil, nil); err != nil {
		t.Fatalf("no answer: %v", err)
	}
}

// within returns what comes from a channel.
func within[T any](t *testing.T, c <-chan T, what string) (x T) {
	t.Helper()
	select {
	case x = <-c:
	case <-time.After(patience):
		t.Fatalf("it does not come: %s", what)
	}
	return x
}

var someone = ids.Owner{1}

func TestServed_ProcessWithTwoConnections_HasLeftWhenTheSecondEnds(t *testing.T) {
	var mu sync.Mutex
	h := newServedHost()
	s := NewServed(&mu, h, nil)
	hereA, thereA := ends(t)
	hereB, thereB := ends(t)
	s.admit(hereA, someone)
	s.admit(hereB, someone)
	a, b := asker(t, thereA), asker(t, thereB)
	ask(t, a)
	if who := within(t, h.asked, "the question"); who != someone {
		t.Errorf("the question is said to be from %v", who)
	}
	a.Close()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
		mu.Lock()
		n, has := s.Len(), s.Has(someone)
		mu.Unlock()
		if n == 1 {
			if !has {
				t.Error("the process is said to have no connection, and has one")
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("the first connection's end is not seen")
		}
	}
	ask(t, b)
	select {
	case <-h.left:
		t.Error("a process that has a connection is said to have left")
	default:
	}
	b.Close()
	if who := within(t, h.left, "the process has left"); who != someone {
		t.Errorf("%v is said to have left", who)
	}
}

func TestServed_Detached_AnotherProcessGoesOnAndTheOtherEndDoesNotNotice(t *testing.T) {
	var mu sync.Mutex
	before, after := newServedHost(), newServedHost()
	s, next := NewServed(&mu, before, nil), NewServed(&mu, after, nil)
	here, there := ends(t)
	s.admit(here, someone)
	p := asker(t, there)
	ask(t, p)
	mu.Lock()
	list := s.Detach()
	mu.Unlock()
	if len(list) != 1 || list[0].Who != someone {
		t.Fatalf("detached: %v", list)
	}
	late, other := ends(t)
	s.admit(late, someone)
	if n, err := other.Read(make([]byte, 1)); err == nil {
		t.Errorf("who comes after that is let in, and told %d bytes", n)
	}
	mu.Lock()
	next.Resume(handedOver(t, list[0].Peer.Conn()), someone, list[0].State)
	next.Start()
	mu.Unlock()
	ask(t, p)
	within(t, after.asked, "the question to the process that goes on")
	p.Close()
	within(t, after.left, "the process has left")
	if len(before.left) > 0 {
		t.Error("the process that gave the connection away is told of its end")
	}
}

func TestServed_Close_EndsAllAndTellsOfEachDescriptorOnce(t *testing.T) {
	var mu, both sync.Mutex
	open, closed := 0, 0
	h := newServedHost()
	s := NewServed(&mu, h, func(_ int, is bool) {
		both.Lock()
		defer both.Unlock()
		if is {
			open++
		} else {
			closed++
		}
	})
	for i := range 2 {
		here, there := ends(t)
		s.admit(here, ids.Owner{byte(i)})
		ask(t, asker(t, there))
	}
	mu.Lock()
	s.Close()
	mu.Unlock()
	for range 2 {
		within(t, h.left, "a process has left")
	}
	both.Lock()
	defer both.Unlock()
	if open != 2 || closed != 2 {
		t.Errorf("told of %d descriptors that open and %d that close, want 2 and 2", open, closed)
	}
}
