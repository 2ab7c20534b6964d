package resume

import (
	"encoding/binary"
	"fmt"
)

// ackAfter is when an acknowledgement goes alone. Until then other frames may take it along.
const ackAfter = 20 * msec

// Received takes a frame that came over a connection, in the order in which it came. A frame that came before, over
// another connection, is dropped. After an error the connection is no longer the session's.
func (s *Session) Received(c ConnID, f Frame) error {
	k := s.conn
	if k == nil || k.id != c {
		return fmt.Errorf("frame %d of node %d on connection %d: %w", f.Number, s.o.Peer, c, ErrConn)
	}
	if err := f.check(); err != nil {
		return s.refuse(f, err)
	}
	s.hears(k)
	if f.Kind == kindAck {
		if f.Number > s.made {
			return s.refuse(f, fmt.Errorf("%w: it acknowledges frame %d, and the last one is %d", ErrFrame, f.Number, s.made))
		}
		s.acknowledged(f.Number)
		s.settle()
		return nil
	}
	switch {
	case f.Number > s.received+1 || f.Number == 0:
		return s.refuse(f, fmt.Errorf("%w: its number is %d, and %d is next", ErrFrame, f.Number, s.received+1))
	case f.Number <= s.received:
		return nil
	}
	if s.ack.told == s.received {
		s.ack.at = s.now + ackAfter
	}
	s.received++
	s.ack.bytes += headerSize + len(f.Body)
	s.progress()
	if err := s.take(f); err != nil {
		s.lose(Broken)
		return fmt.Errorf("frame %d of node %d: %w: %w", f.Number, s.o.Peer, ErrBroken, err)
	}
	s.settle()
	return nil
}

// refuse drops the connection over which a wrong frame came.
func (s *Session) refuse(f Frame, why error) error {
	err := fmt.Errorf("frame %d of node %d: %w", f.Number, s.o.Peer, why)
	s.drop(s.now)
	s.settle()
	return err
}

// take does what a new frame says. The error says which rule the peer broke.
func (s *Session) take(f Frame) error {
	if f.Kind == kindOpen {
		return s.opened(f.Stream, f.Body)
	}
	x := s.stream(f.Stream)
	if x == nil || x.gone {
		return fmt.Errorf("kind %d names stream %d, which is not open", f.Kind, f.Stream)
	}
	switch f.Kind {
	case kindData:
		return s.arrived(x, f.Body)
	case kindGrant:
		return s.granted(x, int(binary.LittleEndian.Uint32(f.Body)))
	default:
		return s.peerEnded(x, Reason(f.Body[0]))
	}
}

// opened begins a stream of the peer.
func (s *Session) opened(id StreamID, target []byte) error {
	switch {
	case id == Control || s.mine(id) || id <= s.lastIts:
		return fmt.Errorf("stream %d is not the peer's to open, or was open before", id)
	case s.its >= s.o.MaxStreams:
		return fmt.Errorf("stream %d is one more than the %d that may be open", id, s.o.MaxStreams)
	}
	s.lastIts = id
	s.streams[id] = s.newStream(id)
	s.its++
	s.act(Action{Kind: Opened, Stream: id, Bytes: target})
	return nil
}

// arrived passes bytes on to the stream's user.
func (s *Session) arrived(x *stream, b []byte) error {
	if len(b) > x.allowed {
		return fmt.Errorf("stream %d has %d bytes more than its window", x.id, len(b)-x.allowed)
	}
	x.allowed -= len(b)
	if x.ended != 0 {
		return nil // nobody reads them
	}
	x.unread += len(b)
	s.act(Action{Kind: Data, Stream: x.id, Bytes: b})
	return nil
}

// granted lets a stream send more.
func (s *Session) granted(x *stream, n int) error {
	if n <= 0 || n > s.o.Window || n > s.o.Window-x.credit-x.out.n {
		return fmt.Errorf("stream %d may send %d bytes more, which its window does not have", x.id, n)
	}
	x.credit += n
	if x.ended == 0 {
		s.wake(x)
	}
	return nil
}

// peerEnded ends a stream at this end, because it has ended at the other one. The peer hears that this end knows.
func (s *Session) peerEnded(x *stream, why Reason) error {
	if x == s.control || why == 0 {
		return fmt.Errorf("stream %d ends with %s", x.id, why)
	}
	x.gone, x.hungry = true, false
	s.throwOut(x)
	if x.ended == 0 {
		x.ended = why
		s.act(Action{Kind: Ended, Stream: x.id, Why: why})
	}
	s.feed()
	if x.sentEnd {
		s.forget(x)
		return nil
	}
	s.makeReady(x)
	return nil
}
