package resume

import "encoding/binary"

// shortTurn is how many bytes of a stream go out in a turn while other streams wait.
const shortTurn = 16 << 10

// turn is the turn of the stream that sends next. What was on Control when the turn began goes out first. So
// a stream's bytes never overtake what was written to Control before them, and Control, however busy, delays a
// stream by no more than a window.
type turn struct {
	x     *stream // nil: there is no turn
	due   uint64  // bytes of Control that go first
	bytes int     // of the stream that may go in this turn; what is written after its beginning waits
	ends  bool    // the stream's end may go in this turn
}

// sent is how many bytes of a stream have left its queue.
func (x *stream) sent() uint64 { return x.written - uint64(x.out.n) }

// begin gives the next stream its turn.
func (s *Session) begin() {
	x := s.ready.pop()
	if x == nil {
		return
	}
	most := shortTurn
	if s.ready.first == nil {
		most = MaxBody
	}
	n := min(x.out.n, most)
	s.turn = turn{x: x, due: s.control.written, bytes: n, ends: x.ended != 0 && !x.sentEnd && n == x.out.n}
}

// produce numbers the next frame and puts it into the log. It reports whether there was one, and room for it.
func (s *Session) produce() bool {
	if s.turn.x == nil {
		s.begin()
	}
	c, t := s.control, &s.turn
	switch {
	case s.grants(c):
		return s.grant(c)
	case c.out.n > 0 && (t.x == nil || c.sent() < t.due):
		return s.data(c, min(c.out.n, MaxBody))
	case t.x == nil:
		return false
	}
	return s.serve(t)
}

// serve produces a frame of the stream that has its turn.
func (s *Session) serve(t *turn) bool {
	x := t.x
	t.bytes = min(t.bytes, x.out.n) // the peer may have ended the stream since
	switch {
	case x.toOpen:
		if !s.frame(kindOpen, x.id, x.target) {
			return false
		}
		s.queued -= len(x.target)
		x.toOpen, x.target = false, nil
		return true
	case s.grants(x):
		return s.grant(x)
	case t.bytes > 0:
		n := t.bytes
		if !s.data(x, n) {
			return false
		}
		t.bytes = 0
		if !t.ends {
			s.over(t)
		}
		return true
	case t.ends:
		if !s.frame(kindEnd, x.id, []byte{byte(x.ended)}) {
			return false
		}
		x.sentEnd = true
		*t = turn{}
		if x.gone {
			s.forget(x)
		}
		return true
	}
	s.over(t)
	return s.produce()
}

// over ends a turn. The stream queues up again if more is left.
func (s *Session) over(t *turn) {
	x := t.x
	*t = turn{}
	if x.out.n > 0 || x.ended != 0 && !x.sentEnd || s.grants(x) {
		s.ready.push(x)
	}
}

// grant tells the peer what was consumed.
func (s *Session) grant(x *stream) bool {
	var body [4]byte
	binary.LittleEndian.PutUint32(body[:], uint32(x.consumed))
	if !s.frame(kindGrant, x.id, body[:]) {
		return false
	}
	x.allowed += x.consumed
	x.consumed = 0
	return true
}

// data moves n bytes of a stream into the log.
func (s *Session) data(x *stream, n int) bool {
	if !s.startFrame(kindData, x.id, n) {
		return false
	}
	x.out.moveTo(&s.log, &s.pool, n)
	s.queued -= n
	return true
}

// frame puts a frame with this body into the log, if there is room.
func (s *Session) frame(kind Kind, id StreamID, body []byte) bool {
	if !s.startFrame(kind, id, len(body)) {
		return false
	}
	s.log.append(&s.pool, body)
	return true
}

func (s *Session) startFrame(kind Kind, id StreamID, n int) bool {
	if s.log.n+headerSize+n > s.o.MaxUnsent {
		return false
	}
	s.made++
	h := header(kind, s.made, id, n)
	s.log.append(&s.pool, h[:])
	return true
}
