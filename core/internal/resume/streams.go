package resume

import (
	"bytes"
	"fmt"
)

// Open opens a stream to a target of the peer's node. What is written to it follows in order.
// The stream is over when End was called or Ended has come.
func (s *Session) Open(target []byte) (StreamID, error) {
	switch {
	case s.lost != 0:
		return 0, fmt.Errorf("open a stream to node %d: %w: %s", s.o.Peer, ErrLost, s.lost)
	case len(target) > MaxTarget:
		return 0, fmt.Errorf("open a stream to node %d: %w: %d bytes, allowed are %d", s.o.Peer, ErrTarget, len(target), MaxTarget)
	case s.own >= s.o.MaxStreams:
		return 0, fmt.Errorf("open a stream to node %d: %w: %d are open, close some", s.o.Peer, ErrStreams, s.own)
	}
	if s.lastOwn == 0 && s.o.Self > s.o.Peer {
		s.lastOwn = 2
	} else if s.lastOwn == 0 {
		s.lastOwn = 1
	} else {
		s.lastOwn += 2
	}
	x := s.newStream(s.lastOwn)
	x.target, x.toOpen = bytes.Clone(target), true
	s.streams[x.id] = x
	s.own++
	s.queued += len(x.target)
	s.ready.push(x)
	s.settle()
	return x.id, nil
}

// Write takes bytes that are to be sent on a stream, and returns how many: what the stream's window and
// MaxUnsent leave room for. When it takes fewer than it is given, Writable follows. It takes
// nothing of a stream that is over.
//
// What was written to Control arrives before whatever is written to other streams later.
func (s *Session) Write(id StreamID, b []byte) int {
	x := s.stream(id)
	if x == nil || x.ended != 0 {
		return 0
	}
	n := min(len(b), x.credit, max(0, s.unsentRoom(x)))
	if n < len(b) {
		x.hungry = true
		if n < x.credit {
			s.starved.push(x)
		}
	}
	if n == 0 {
		return 0
	}
	x.out.append(&s.pool, b[:n])
	x.credit -= n
	x.written += uint64(n)
	s.queued += n
	s.makeReady(x)
	s.settle()
	return n
}

// Consumed says that n bytes of a stream's Data are no longer kept. The peer may then send as many more.
func (s *Session) Consumed(id StreamID, n int) {
	x := s.stream(id)
	if x == nil || n <= 0 {
		return
	}
	n = min(n, x.unread)
	x.unread -= n
	x.consumed += n
	if s.grants(x) {
		s.makeReady(x)
		s.settle()
	}
}

// End ends a stream at this end. What Write has taken is still sent, and then the reason. What comes of the stream
// later is thrown away. It does nothing to a stream that is over, and Control ends with the session only.
func (s *Session) End(id StreamID, why Reason) {
	x := s.stream(id)
	if x == nil || x == s.control || x.ended != 0 {
		return
	}
	if why == 0 {
		why = Closed
	}
	x.ended = why
	x.hungry = false
	s.makeReady(x)
	s.settle()
}

// stream returns a stream of which an end is left here, else nil.
func (s *Session) stream(id StreamID) *stream {
	if s.lost != 0 {
		return nil
	}
	if id == Control {
		return s.control
	}
	return s.streams[id]
}

// makeReady lets a stream wait for a turn. Control needs none, and the stream that has its turn queues up at its end.
func (s *Session) makeReady(x *stream) {
	if x != s.control && x != s.turn.x {
		s.ready.push(x)
	}
}

// grants reports whether the peer should hear how much of a stream was consumed. To say it of each few
// bytes would cost more frames than the data itself.
func (s *Session) grants(x *stream) bool {
	return x.consumed*2 >= s.o.Window && !x.gone && x.ended == 0
}

// unsent is how many bytes the session keeps for the peer.
func (s *Session) unsent() int { return s.queued + s.log.n }

// unsentRoom returns how many bytes a stream may add to them. Control may still add a window when the others may not.
func (s *Session) unsentRoom(x *stream) int {
	if x == s.control {
		return s.o.MaxUnsent - s.unsent()
	}
	return s.o.MaxUnsent - s.o.Window - s.unsent()
}

// feed wakes those streams that MaxUnsent has stopped, once a quarter of it is free. All are woken: the first ones may not
// write at all.
func (s *Session) feed() {
	if s.starved.first == nil {
		return
	}
	if s.control.in[s.starved.which] && s.unsentRoom(s.control) >= s.o.Window/2 {
		s.wake(s.control) // it stays in the list, and is not hungry when its turn comes
	}
	if s.unsentRoom(s.control) < s.o.MaxUnsent/4+s.o.Window {
		return
	}
	for x := s.starved.pop(); x != nil; x = s.starved.pop() {
		s.wake(x)
	}
}

// wake says that a stream takes bytes again, if that is so and it has refused some.
func (s *Session) wake(x *stream) {
	switch {
	case !x.hungry || x.credit == 0:
	case s.unsentRoom(x) <= 0:
		s.starved.push(x)
	default:
		x.hungry = false
		s.act(Action{Kind: Writable, Stream: x.id})
	}
}

// throwOut forgets what a stream had to send.
func (s *Session) throwOut(x *stream) {
	s.queued -= x.out.n
	x.out.discard(&s.pool, x.out.n)
}

// forget removes a stream of which no end is left.
func (s *Session) forget(x *stream) {
	delete(s.streams, x.id)
	if s.mine(x.id) {
		s.own--
	} else {
		s.its--
	}
}

// mine reports whether this end opens streams with such a number.
func (s *Session) mine(id StreamID) bool { return (id%2 == 1) == (s.o.Self < s.o.Peer) }
