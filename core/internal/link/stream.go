package link

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/resume"
)

// Stream is one end of a stream to a node. It is a net.Conn that goes on when connections break. Write
// waits while the peer does not read. The bytes of one Write stay together.
type Stream struct {
	s      *session
	id     resume.StreamID
	target []byte

	// What follows belongs to s.mu.
	readers, writers sync.Cond
	in               ring
	came, given      uint64 // bytes that arrived, and that Read returned
	marks            marks
	pass             pass
	writing          bool      // a Write is under way
	closed           bool      // by this end
	ended            *EndError // of the other end, or of the session; nil: it is open
	readBy, writeBy  deadline
}

func (s *session) newStream(id resume.StreamID, target []byte) *Stream {
	x := &Stream{s: s, id: id, target: target}
	x.readers.L, x.writers.L = &s.mu, &s.mu
	return x
}

// Target is what the stream was opened with.
func (x *Stream) Target() []byte { return x.target }

// Read returns io.EOF when the other end has closed the stream and everything was read. If the other end has ended for
// another reason, the error is an *EndError.
func (x *Stream) Read(b []byte) (int, error) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.id == resume.Control {
		s.handle(x.given)
	}
	for {
		switch n := x.mayRead(len(b)); {
		case x.closed:
			return 0, x.closedError("read")
		case x.readBy.over:
			return 0, x.timeout("read")
		case len(b) > 0 && len(x.pass.rest) > 0:
			return x.pass.take(b), nil
		case n > 0:
			x.takes(b[:n])
			return n, nil
		case len(b) == 0:
			return 0, nil
		case x.ended != nil && x.in.n == 0 && !x.pass.busy && x.marks.ended <= s.order.handled:
			if x.ended.Why == resume.Closed && x.ended.Cause == nil {
				return 0, io.EOF
			}
			return 0, x.ended
		}
		x.pass.waiting = true
		x.readers.Wait()
		x.pass.waiting = false
	}
}

// takes moves bytes that are readable into b, all of which they fill.
func (x *Stream) takes(b []byte) {
	s := x.s
	x.in.take(b, &s.k.links.rings)
	x.given += uint64(len(b))
	s.advance()
	s.rs.Consumed(x.id, len(b))
	s.follow()
}

// Write returns when the session has taken all bytes: then they arrive, unless the session is lost.
func (x *Stream) Write(b []byte) (int, error) {
	n, write, err := x.give(b)
	if write != nil {
		write()
	}
	return n, err
}

// give gives the session all bytes. The caller is to call write, if it is not nil: then the connection is idle, and write does not wait.
func (x *Stream) give(b []byte) (n int, write func(), err error) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for x.writing && x.writable() == nil {
		x.writers.Wait()
	}
	if err := x.writable(); err != nil {
		return 0, nil, err
	}
	x.writing = true
	defer x.written()
	for {
		s.advance()
		n += s.rs.Write(x.id, b[n:])
		if n == len(b) {
			return n, s.followed(), nil
		}
		s.follow()
		if err := x.writable(); err != nil {
			return n, nil, err
		}
		x.writers.Wait()
		if err := x.writable(); err != nil {
			return n, nil, err
		}
	}
}

func (x *Stream) written() {
	x.writing = false
	x.writers.Broadcast()
}

// writable returns why nothing can be written.
func (x *Stream) writable() error {
	switch {
	case x.closed:
		return x.closedError("write")
	case x.ended != nil:
		return x.ended
	case x.writeBy.over:
		return x.timeout("write")
	}
	return nil
}

// Close ends the stream. What was written still arrives.
func (x *Stream) Close() error { return x.CloseWith(resume.Closed) }

// CloseWith is Close with a reason that the other end hears.
func (x *Stream) CloseWith(why resume.Reason) error {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.closed {
		return nil
	}
	s.advance()
	if x.id == resume.Control {
		// Its reader met something that is no message, or its user gives the node up.
		s.handleAll()
		s.rs.GiveUp(resume.Broken)
	} else {
		s.rs.End(x.id, why)
	}
	x.closed = true
	x.in.empty(&s.k.links.rings)
	x.readBy.stop()
	x.writeBy.stop()
	delete(s.streams, x.id)
	x.wake()
	s.follow()
	return nil
}

// Ended returns why the other end has ended, 0 while it has not.
func (x *Stream) Ended() resume.Reason {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if x.ended == nil {
		return 0
	}
	return x.ended.Why
}

// end notes that the other end has ended, or the session.
func (x *Stream) end(why *EndError) {
	if x.ended == nil {
		x.ended = why
		x.marks.ended = x.s.waits(x)
	}
	x.wake()
}

func (x *Stream) wake() {
	x.readers.Broadcast()
	x.writers.Broadcast()
}

func (x *Stream) closedError(what string) error {
	return fmt.Errorf("%s a stream to node %d: %w", what, x.s.k.node, net.ErrClosed)
}

func (x *Stream) timeout(what string) error {
	return fmt.Errorf("%s a stream to node %d: %w", what, x.s.k.node, os.ErrDeadlineExceeded)
}

// Address names an end of a stream.
type Address uint32

// Network is "eagleray".
func (Address) Network() string { return "eagleray" }

func (a Address) String() string { return fmt.Sprintf("node %d", uint32(a)) }

// LocalAddr is the number of this node.
func (x *Stream) LocalAddr() net.Addr { return Address(x.s.k.links.c.Self.Number) }

// RemoteAddr is the number of the node at the other end.
func (x *Stream) RemoteAddr() net.Addr { return Address(x.s.k.node) }

// SetDeadline sets both deadlines.
func (x *Stream) SetDeadline(t time.Time) error {
	return x.setDeadlines(t, &x.readBy, &x.writeBy)
}

// SetReadDeadline makes Read fail from a time on; the zero time: never.
func (x *Stream) SetReadDeadline(t time.Time) error { return x.setDeadlines(t, &x.readBy) }

// SetWriteDeadline makes Write fail from a time on; the zero time: never.
func (x *Stream) SetWriteDeadline(t time.Time) error { return x.setDeadlines(t, &x.writeBy) }

func (x *Stream) setDeadlines(t time.Time, which ...*deadline) error {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if x.closed {
		return x.closedError("set a deadline of")
	}
	for _, d := range which {
		x.setDeadline(d, t)
	}
	x.wake()
	return nil
}

// deadline of reads or writes.
type deadline struct {
	timer *time.Timer // nil: none is set, or it is over
	over  bool
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (x *Stream) setDeadline(d *deadline, t time.Time) {
	d.stop()
	d.over = !t.IsZero() && time.Until(t) <= 0
	if t.IsZero() || d.over {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(t), func() { x.expire(d, &timer) })
	d.timer = timer
}

// expire says that a deadline is over, unless another one was set meanwhile.
func (x *Stream) expire(d *deadline, timer **time.Timer) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if d.timer == nil || d.timer != *timer {
		return
	}
	d.timer, d.over = nil, true
	x.wake()
}
