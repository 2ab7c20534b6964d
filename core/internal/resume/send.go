package resume

import "encoding/binary"

// Batch is about how many bytes one call of Next appends.
const Batch = 64 << 10

// When the peer hears what has arrived, if no other frame takes the news along.
const ackBytes = 256 << 10

// Pending reports whether Next has anything for the attached connection.
func (s *Session) Pending() bool {
	if s.lost != 0 || s.conn == nil {
		return false
	}
	return s.conn.at < s.log.n || s.turn.x != nil || s.ready.first != nil || s.control.out.n > 0 || s.grants(s.control) || s.ackIsDue()
}

// Next appends the frames that are to be written to a connection now, whole ones, and about Batch bytes at most. It appends nothing
// when there is nothing to write, or when the connection is not the attached one. The frames count as written; if they
// do not arrive, they go out again over the next connection.
func (s *Session) Next(c ConnID, b []byte) []byte {
	k := s.conn
	if k == nil || k.id != c {
		return b
	}
	for s.log.n-k.at < Batch && s.produce() {
	}
	if k.at < s.log.n || s.ackIsDue() {
		b = s.appendAck(b)
	}
	if k.at == 0 {
		s.clock.silence = s.now // nothing was owed before
	}
	n := s.wholeFrames(k.at)
	b = s.log.appendTo(b, k.at, n)
	k.at += n
	s.settle()
	return b
}

// wholeFrames returns how many bytes the frames have that begin at an offset in the log and make up a batch. A single frame may be larger.
func (s *Session) wholeFrames(at int) (n int) {
	left := s.log.n - at
	if left <= Batch {
		return left
	}
	for n < left {
		size := s.frameSize(at + n)
		if n > 0 && n+size > Batch {
			break
		}
		n += size
	}
	return n
}

// frameSize returns the size of the frame that begins at an offset in the log.
func (s *Session) frameSize(at int) int {
	var room [4]byte
	return 4 + int(binary.LittleEndian.Uint32(s.log.appendTo(room[:0], at, 4)))
}

// appendAck appends an acknowledgement if there is anything new.
func (s *Session) appendAck(b []byte) []byte {
	if s.ack.told == s.received {
		return b
	}
	s.ack = ack{told: s.received}
	h := header(kindAck, s.received, Control, 0)
	return append(b, h[:]...)
}

func (s *Session) ackIsDue() bool {
	a := s.ack
	return a.told < s.received && (a.bytes >= ackBytes || s.now >= a.at)
}

// acknowledged removes the frames up to a number from the log.
func (s *Session) acknowledged(number uint64) {
	if number <= s.acked {
		return
	}
	n := 0
	for ; s.acked < number; s.acked++ {
		size := s.frameSize(0)
		s.log.discard(&s.pool, size)
		n += size
	}
	if s.conn != nil {
		s.conn.at = max(0, s.conn.at-n)
	}
	s.progress()
	s.feed()
}
