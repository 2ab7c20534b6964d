package transport

import (
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func osFile(fd int) *os.File { return os.NewFile(uintptr(fd), "the test's") }

// called is a task connection that a host was told of.
type called struct {
	fd   int
	role string
	page bool
}

// listenerHost keeps what it is told, and closes it at the end of the test.
type listenerHost struct {
	*servedHost
	calls chan called
}

func (h *listenerHost) Called(fd int, hello *wire.Hello, page int) {
	h.calls <- called{fd, hello.Role, page >= 0}
}

// listening returns the listener of a process of the test's own, and where the process is.
func listening(t *testing.T) (l *Listener, h *listenerHost, at place) {
	t.Helper()
	at = newPlace(t)
	mu := new(sync.Mutex)
	h = &listenerHost{newServedHost(), make(chan called, 10)}
	l, err := Listen(at.path, h, NewServed(mu, h, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(l, mu) })
	return l, h, at
}

func closeAll(l *Listener, mu *sync.Mutex) {
	l.Close()
	mu.Lock()
	defer mu.Unlock()
	l.served.Close()
}

func hello(role string) wire.Hello {
	return wire.Hello{Version: wire.Version, Role: role, OwnerID: make([]byte, ids.OwnerSize)}
}

func TestListener_EachConnectionGoesWhereItsHelloSays(t *testing.T) {
	l, h, at := listening(t)
	l.Start()
	p, err := at.dialer.DialControl(at.addr, hello(wire.RoleControl), refuse, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	defer p.Close()
	ask(t, p)
	page, err := unix.MemfdCreate("page", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(page)
	for _, x := range []struct {
		role string
		page int
	}{{wire.RoleLease, page}, {wire.RoleActor, -1}} {
		fd, err := at.dialer.Dial(at.addr, hello(x.role), x.page)
		if err != nil {
			t.Fatal(err)
		}
		got := within(t, h.calls, "the task connection")
		if got.role != x.role || got.page != (x.page >= 0) {
			t.Errorf("a connection for %q with page %d came as %+v", x.role, x.page, got)
		}
		write(t, got.fd, []byte{7})
		b := make([]byte, 1)
		if n, err := unix.Read(fd, b); n != 1 || b[0] != 7 {
			t.Errorf("the host's descriptor leads elsewhere: %v, %v", b, err)
		}
		unix.Close(got.fd)
		unix.Close(fd)
	}
}

func TestListener_WhoDoesNotIntroduceItselfProperly_IsTurnedAway(t *testing.T) {
	l, h, at := listening(t)
	l.Start()
	old, short := hello(wire.RoleControl), hello(wire.RoleLease)
	old.Version++
	short.OwnerID = short.OwnerID[1:]
	for what, x := range map[string]wire.Hello{"another version": old, "a short owner": short, "a role that is not for workers": hello(wire.RoleWorker)} {
		fd, err := at.dialer.Dial(at.addr, x, -1)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := unix.Read(fd, make([]byte, 1)); n > 0 || err == unix.EAGAIN {
			t.Errorf("%s: it is not turned away: %d bytes, %v", what, n, err)
		}
		unix.Close(fd)
	}
	if len(h.calls) > 0 || l.served.Len() > 0 {
		t.Error("one that was turned away was let in")
	}
}

func TestListener_Stopped_WhoConnectsNextIsLetInByWhoTakesOver(t *testing.T) {
	l, before, at := listening(t)
	l.Start()
	early, err := net.Dial("unix", at.path)
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	p, err := at.dialer.DialControl(at.addr, hello(wire.RoleControl), refuse, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	defer p.Close()
	ask(t, p) // so the one before it was accepted, too
	stopped := make(chan struct{})
	go func() {
		l.Stop()
		close(stopped)
	}()
	b, err := wire.AppendMessage(nil, wire.Request, wire.THello, 1, 0, hello(wire.RoleLease))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := early.Write(b); err != nil {
		t.Fatal(err)
	}
	within(t, stopped, "the listener has stopped")
	select {
	case x := <-before.calls:
		unix.Close(x.fd)
	default:
		t.Error("the listener has stopped, and has not let in who was introducing itself")
	}
	fd, err := at.dialer.Dial(at.addr, hello(wire.RoleActor), -1)
	if err != nil {
		t.Fatalf("a listener that is to be taken over refuses connections: %v", err)
	}
	defer unix.Close(fd)
	copied, err := unix.FcntlInt(uintptr(l.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := osFile(copied)
	defer f.Close()
	mu, after := new(sync.Mutex), &listenerHost{newServedHost(), make(chan called, 10)}
	next, err := Takeover(f, at.path, after, NewServed(mu, after, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(next, mu)
	l.Close() // as the process that has handed over does when it ends
	next.Start()
	late, err := at.dialer.Dial(at.addr, hello(wire.RoleActor), -1)
	if err != nil {
		t.Fatalf("the process that has handed over took the socket's file with it: %v", err)
	}
	defer unix.Close(late)
	for range 2 {
		x := within(t, after.calls, "the connections at the process that has taken over")
		unix.Close(x.fd)
	}
	closeAll(next, mu)
	if _, err := os.Stat(at.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// tired is an acceptor that fails now and then.
type tired struct {
	net.Listener
	fails int
}

func (x *tired) Accept() (net.Conn, error) {
	if x.fails > 0 {
		x.fails--
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", unix.EMFILE)}
	}
	return x.Listener.Accept()
}

func (x *tired) SetDeadline(at time.Time) error {
	return x.Listener.(*net.UnixListener).SetDeadline(at)
}

func TestListener_NoDescriptorIsLeftForAWhile_LetsOthersInLater(t *testing.T) {
	l, h, at := listening(t)
	l.ln = &tired{l.ln.(*net.UnixListener), 3}
	l.Start()
	fd, err := at.dialer.Dial(at.addr, hello(wire.RoleLease), -1)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	x := within(t, h.calls, "the connection, after some that could not be accepted")
	unix.Close(x.fd)
}

func TestListener_StoppedWhileNothingCanBeAccepted_Ends(t *testing.T) {
	l, _, _ := listening(t)
	l.ln = &tired{l.ln.(*net.UnixListener), 1 << 30}
	l.Start()
	done := make(chan struct{})
	go func() {
		l.Stop()
		close(done)
	}()
	within(t, done, "the listener has stopped")
}

func TestTakeover_NotAListenerOfThisKind_IsAnError(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := Takeover(r, "nowhere", nil, NewServed(new(sync.Mutex), nil, nil)); err == nil {
		t.Error("a pipe is taken for a listener")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("no network: %v", err)
	}
	defer ln.Close()
	f, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Takeover(f, "nowhere", nil, NewServed(new(sync.Mutex), nil, nil)); err == nil {
		t.Error("a listener of another network is taken over")
	}
}
