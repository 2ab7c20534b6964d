package transport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// How long a listener waits before it tries again when no connection could be
// accepted, because the process has no descriptor left for instance.
const (
	acceptAgain     = time.Millisecond
	acceptAgainMost = 50 * time.Millisecond
)

// ListenerHost is the process that others connect to.
type ListenerHost interface {
	// Called is called when another process has opened a task connection. The descriptor
	// belongs to the host, which passes it to Poller.Add or closes it. The page, -1 for none, is
	// closed when Called returns. The mutex is not held.
	Called(fd int, h *wire.Hello, page int)
}

// acceptor is what a Listener needs of a net.UnixListener.
type acceptor interface {
	Accept() (net.Conn, error)
	SetDeadline(time.Time) error
	Close() error
}

// Listener accepts connections of other processes. Task connections go to the
// ListenerHost, and control connections go to Served. A connection without a proper hello
// is refused. The Listener has one goroutine that accepts, and one for each connection
// that has not sent its hello yet. It needs no mutex.
type Listener struct {
	host   ListenerHost
	served *Served
	told   watcher

	ln      acceptor
	path    string
	fd      int // of ln; -1: its end was told already
	running sync.WaitGroup
	stopped chan struct{} // closed by Stop or Close
	stop    sync.Once
	left    atomic.Bool // to the process that takes over: the socket's file stays
}

// Listen makes a listener at the path of a socket. No connection is accepted before Start.
func Listen(path string, host ListenerHost, served *Served) (*Listener, error) {
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for other processes: %w", err)
	}
	return newListener(ln.(*net.UnixListener), path, Descriptor(ln), host, served), nil
}

// Takeover is Listen for a socket at which another process has listened at the
// path. The file stays the caller's to close.
func Takeover(f *os.File, path string, host ListenerHost, served *Served) (*Listener, error) {
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take a listener over: %w", err)
	}
	u, ok := ln.(*net.UnixListener)
	if !ok {
		ln.Close()
		return nil, fmt.Errorf("take a listener over: it listens on a %s network", ln.Addr().Network())
	}
	return newListener(u, path, Descriptor(u), host, served), nil
}

func newListener(ln acceptor, path string, fd int, host ListenerHost, served *Served) *Listener {
	l := &Listener{host: host, served: served, told: served.told, ln: ln, path: path, fd: fd, stopped: make(chan struct{})}
	l.told.opened(fd)
	return l
}

// FD returns the descriptor at which the process listens.
func (l *Listener) FD() int { return l.fd }

// Start begins to accept connections.
func (l *Listener) Start() {
	l.running.Add(1)
	go l.accept()
}

func (l *Listener) accept() {
	defer l.running.Done()
	for again := acceptAgain; ; {
		c, err := l.ln.Accept()
		switch {
		case err == nil:
			again = acceptAgain
			l.running.Add(1)
			go func() {
				defer l.running.Done()
				l.welcome(c.(*net.UnixConn))
			}()
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
			return
		default: // there may be descriptors again later
			select {
			case <-l.stopped:
				return
			case <-time.After(again):
			}
			again = min(2*again, acceptAgainMost)
		}
	}
}

// welcome reads the hello of a process that has connected, and passes the connection on.
func (l *Listener) welcome(u *net.UnixConn) {
	h, page, err := wire.ReadHelloFD(u)
	if page >= 0 {
		defer unix.Close(page)
	}
	if err != nil || len(h.OwnerID) != ids.OwnerSize || h.Version != wire.Version {
		u.Close()
		return
	}
	switch h.Role {
	case wire.RoleControl:
		l.served.admit(u, ids.Owner(h.OwnerID))
	case wire.RoleLease, wire.RoleActor:
		fd, err := duplicate(u)
		u.Close()
		if err == nil { // else the other end sees that the connection is closed
			l.host.Called(fd, h, page)
		}
	default:
		u.Close()
	}
}

// duplicate returns a descriptor of a connection's socket that Go's network poller does not know.
func duplicate(u *net.UnixConn) (fd int, err error) {
	rc, err := u.SyscallConn()
	if err != nil {
		return -1, err
	}
	if e := rc.Control(func(f uintptr) { fd, err = unix.FcntlInt(f, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return -1, e
	}
	return fd, err
}

// Stop accepts no further connection, and returns when all accepted connections have sent
// their hellos. A process that connects from now on waits for the process that takes over
// the listener, also after Close. The session's mutex must not be held.
func (l *Listener) Stop() {
	l.left.Store(true)
	l.stop.Do(func() { close(l.stopped) })
	_ = l.ln.SetDeadline(time.Unix(1, 0)) // it fails only when the listener is closed
	l.running.Wait()
}

// Close stops listening and removes the socket's file, unless Stop has left it to another process.
func (l *Listener) Close() {
	l.stop.Do(func() { close(l.stopped) })
	l.told.closing(&l.fd)
	if l.left.Load() {
		l.Abandon()
		return
	}
	_ = l.ln.Close()
	_ = os.Remove(l.path) // it is gone already unless the listener was taken over
}

// Abandon closes the listener as the end of the process would: the socket's file stays.
func (l *Listener) Abandon() {
	if u, ok := l.ln.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	_ = l.ln.Close()
}
