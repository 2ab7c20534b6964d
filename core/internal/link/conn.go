package link

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/direct"
	"github.com/eagleray/eagleray/core/internal/resume"
)

// conn is the attached connection of a session. It has two goroutines, a reader and a writer.
type conn struct {
	s      *session
	id     resume.ConnID
	nc     net.Conn      // with TLS, if there is TLS
	under  io.Closer     // the connection below TLS: to close it waits for nobody
	socket *direct.Conn  // the same, if it is one over TCP; nil: it is another one
	wake   chan struct{} // has room for one
	gone   chan struct{} // closed with the connection
	once   sync.Once
	now    func() // writeNow, so that each use makes no garbage

	// What follows belongs to s.mu.
	writing bool          // the writer works, or is woken, or somebody writes for it
	wrote   time.Duration // when that was over
}

// install makes a connection the session's; its lock is held. Nothing is written before start.
func (s *session) install(id resume.ConnID, m *member) *conn {
	c := &conn{s: s, id: id, nc: m.nc, under: m.under, socket: m.socket, wake: make(chan struct{}, 1), gone: make(chan struct{}), writing: true}
	c.now = c.writeNow
	s.conns[id], s.conn = c, c
	if s.relayed != m.relayed {
		s.relayed = m.relayed
		s.k.links.run(func() { s.k.links.tellWay(s.k.node, m.relayed) })
	}
	return c
}

func (c *conn) close() {
	c.once.Do(func() {
		close(c.gone)
		c.under.Close()
	})
}

// start runs the reader and the writer.
func (c *conn) start() {
	if c.socket != nil {
		c.socket.Settle()
	}
	c.wake <- struct{}{}
	if !c.s.k.links.run(c.write) || !c.s.k.links.run(c.read) {
		c.close()
	}
}

// write writes what the session has for this connection, up to resume.Batch bytes at a time, or what is there.
func (c *conn) write() {
	for {
		select {
		case <-c.gone:
			return
		case <-c.wake:
		}
		if err := c.drain(); err != nil {
			c.s.detached(c.id, err)
			return
		}
	}
}

func (c *conn) drain() error {
	kept := batches.Get().(*[]byte)
	defer batches.Put(kept)
	if c.socket != nil { // what writeNow has left
		if _, err := c.socket.Write(nil); err != nil {
			return err
		}
	}
	for {
		b := c.next((*kept)[:0])
		if len(b) == 0 {
			return nil
		}
		*kept = b
		if _, err := c.nc.Write(b); err != nil {
			return err
		}
	}
}

// writeNow writes a batch for the goroutine that has claimed the idle connection, and does not wait. What is left is for the writer.
func (c *conn) writeNow() {
	kept := batches.Get().(*[]byte)
	defer batches.Put(kept)
	b := c.next((*kept)[:0])
	if len(b) == 0 {
		return
	}
	*kept = b
	c.socket.Lazily(true)
	_, err := c.nc.Write(b)
	left := c.socket.Lazily(false)
	switch {
	case err != nil:
		c.s.detached(c.id, err)
	case left || !c.rests():
		c.wake <- struct{}{}
	}
}

// rests lets the connection be idle, unless there is more to write.
func (c *conn) rests() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.pauses(!c.s.rs.Pending())
	return !c.writing
}

// next returns what is to be written, nothing if the writer may sleep.
func (c *conn) next(b []byte) []byte {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	b = s.rs.Next(c.id, b)
	s.follow()
	c.pauses(len(b) == 0) // not before: what cannot be sent yet must not wake the writer again
	return b
}

// pauses notes whether there is nothing to write.
func (c *conn) pauses(idle bool) {
	if c.writing = !idle; idle {
		c.wrote = time.Since(c.s.begun)
	}
}

// directPause is how long a connection must have been idle before the goroutine that has something to write does it itself. If more is written sooner, it is
// better to wake the writer: what is written until it runs goes out with one call.
const directPause = 20 * time.Microsecond

// direct reports whether the goroutine that has claimed the connection is to write.
func (c *conn) direct() bool { return c.socket != nil && time.Since(c.s.begun)-c.wrote >= directPause }

// read reads frames until the connection ends.
func (c *conn) read() {
	small := make([]byte, smallRead)
	buf, large := small, (*[]byte)(nil)
	defer func() {
		if large != nil {
			reads.Put(large)
		}
	}()
	have := 0
	for {
		n, err := c.nc.Read(buf[have:])
		full := have+n == len(buf)
		rest, wrong := c.received(buf[:have+n])
		c.s.passOn()
		if wrong != nil {
			if !errors.Is(wrong, resume.ErrConn) {
				c.s.k.links.log.Warn("a connection to another node is given up", "node", c.s.k.node, "why", wrong)
			}
			c.s.detached(c.id, wrong)
			return
		}
		if err != nil {
			c.s.detached(c.id, err)
			return
		}
		have = len(rest)
		switch {
		case large == nil && full: // there is more
			large = reads.Get().(*[]byte)
			buf = *large
		case large != nil && have == 0 && n < smallRead:
			reads.Put(large)
			buf, large = small, nil
		}
		copy(buf, rest)
	}
}

// received takes the frames that are there, and returns the beginning of the next one.
func (c *conn) received(b []byte) (rest []byte, err error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	defer s.follow() // the bytes of actions lie in b
	for {
		f, rest, ok, err := resume.ParseFrame(b)
		if !ok || err != nil {
			return rest, err
		}
		if err := s.rs.Received(c.id, f); err != nil {
			return nil, err
		}
		b = rest
	}
}
