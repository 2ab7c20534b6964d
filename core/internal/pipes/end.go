package pipes

import (
	"net"
	"sync"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/direct"
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
	process *direct.Conn
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

// takes makes the connection to the process of this node the end's. It fails, and the connection is closed, only if somebody has closed it.
func (e *end) takes(u *net.UnixConn) (*direct.Conn, error) {
	c, err := direct.New(u)
	if err != nil {
		u.Close()
		return nil, err
	}
	c.Settle()
	e.hold(c)
	e.serves(c)
	return c, nil
}

// serves notes the socket of the process of this node.
func (e *end) serves(c *direct.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.process = c
	e.expire()
}

// expire has nothing more wait for a process that is gone; e.mu is held.
func (e *end) expire() {
	select {
	case <-e.left:
		if e.process != nil {
			// What the process had written can still be read, and then comes the end. The process writes nothing more, although a child
			// that it forked may keep its end of the connection open.
			e.process.Shutdown()
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
