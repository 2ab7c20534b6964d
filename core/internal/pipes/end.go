package pipes

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
)

// end is one end of a pipe: the part that is on this node.
type end struct {
	p     *Pipes
	owner ids.Owner // the process of this node; Pipes.mu guards it

	leaves sync.Once
	left   chan struct{} // closed when the process is gone

	mu      sync.Mutex
	closed  bool
	conns   []net.Conn // that close closes
	process *net.UnixConn
}

// hold has the end's close close a connection, at once if the end was closed before.
func (e *end) hold(c net.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		c.Close()
		return
	}
	e.conns = append(e.conns, c)
}

// release takes back what hold has said of the only connection.
func (e *end) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conns = nil
}

// serves notes the connection of the process of this node.
func (e *end) serves(u *net.UnixConn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.process = u
	e.expire()
}

// expire has nothing more wait for a process that is gone; e.mu is held.
func (e *end) expire() {
	select {
	case <-e.left:
		if e.process != nil {
			_ = e.process.SetDeadline(time.Unix(1, 0)) // it fails only when it is closed
		}
	default:
	}
}

// leave notes that the process is gone.
func (e *end) leave() {
	e.leaves.Do(func() { close(e.left) })
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expire()
}

// close closes the connections.
func (e *end) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for _, c := range e.conns {
		c.Close()
	}
}

// socket is the connection of a process of this node. When the process is gone, Read gives what
// it had written, and then the end.
type socket struct{ *net.UnixConn }

// Read implements io.Reader.
func (s socket) Read(b []byte) (int, error) {
	n, err := s.UnixConn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) { // set by expire
		return s.rest(b)
	}
	return n, err
}

// rest reads what is there already. A process that is gone writes nothing more, although a child
// that it forked may keep its end open.
func (s socket) rest(b []byte) (n int, err error) {
	rc, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var bad error
	err = rc.Control(func(fd uintptr) {
		for {
			if n, bad = unix.Read(int(fd), b); bad != unix.EINTR {
				return
			}
		}
	})
	if err != nil || bad != nil || n <= 0 {
		return 0, io.EOF
	}
	return n, nil
}
