package resume

import (
	"cmp"
	"slices"
	"time"
)

const (
	msec = time.Millisecond

	silenceAfter = 5 * time.Second // a connection is given up when frames wait for an acknowledgement, and nothing is heard
	dialFor      = 5 * time.Second // an attempt to dial is given up
	firstPause   = 100 * msec      // after the first attempt in vain; it doubles
	longestPause = 2 * time.Second
	keptPause    = 500 * msec  // the longest one with a peer to which there must always be a connection: a head that was started again may lead soon
	giveWay      = 300 * msec  // how much longer the node with the higher number waits when a connection ended
	steady       = time.Second // a connection that held so long did not fail at once
	trimAfter    = time.Second // free memory is given back when nothing was sent for so long
)

// Advance says what time it is, on a clock that never goes back. It comes before the events of that time.
func (s *Session) Advance(now time.Duration) {
	s.now = max(s.now, now)
	if s.lost != 0 {
		return
	}
	if s.clock.stuck && s.now-s.clock.from >= s.o.Patience {
		s.lose(NoPath)
		return
	}
	if s.waitsForAck() && s.now-s.clock.silence >= silenceAfter {
		s.drop(s.clock.silence)
	}
	if s.dials.under != 0 && s.now >= s.dials.until {
		s.act(Action{Kind: Drop, Conn: s.dials.under})
		s.dials.under = 0
		s.failed()
	}
	if s.clock.trim != 0 && s.now >= s.clock.trim {
		s.pool.free, s.clock.trim = nil, 0
	}
	s.settle()
}

// NextTime returns when Advance must be called at the latest, and false when there is no such time. It changes with each event.
func (s *Session) NextTime() (time.Duration, bool) {
	next, some := time.Duration(0), false
	add := func(when bool, t time.Duration) {
		if when && (!some || t < next) {
			next, some = t, true
		}
	}
	if s.lost != 0 {
		return 0, false
	}
	add(s.clock.stuck, s.clock.from+s.o.Patience)
	add(s.waitsForAck(), s.clock.silence+silenceAfter)
	add(s.dials.under != 0, s.dials.until)
	add(s.clock.trim != 0, s.clock.trim)
	add(s.conn != nil && s.ack.told < s.received && !s.ackIsDue(), s.ack.at)
	add(s.mayDial(), s.dials.next)
	add(s.mayProbe(), s.direct.probe)
	return next, some
}

// waitsForAck reports whether the peer owes an acknowledgement on the attached connection.
func (s *Session) waitsForAck() bool { return s.conn != nil && s.conn.at > 0 }

// wanted reports whether there should be a connection.
func (s *Session) wanted() bool {
	return s.o.Keep || len(s.streams) > 0 || s.unsent() > 0 || s.grants(s.control)
}

func (s *Session) mayDial() bool { return s.conn == nil && s.dials.under == 0 && s.wanted() }

// settle follows each event. It dials, and starts and stops the clocks.
func (s *Session) settle() {
	if s.lost != 0 {
		return
	}
	if stuck := s.log.n > 0 || s.conn == nil && s.wanted(); stuck != s.clock.stuck {
		s.clock.stuck, s.clock.from = stuck, s.now
	}
	switch used := s.unsent() > 0 || len(s.pool.free) == 0; {
	case used:
		s.clock.trim = 0
	case s.clock.trim == 0:
		s.clock.trim = s.now + trimAfter
	}
	switch {
	case s.mayDial() && s.now >= s.dials.next:
		s.noDirect(s.now)
		s.dial(0, s.o.Relay && s.now-s.direct.since >= relayAfter)
	case s.mayProbe() && s.now >= s.direct.probe:
		s.dial(s.conn.id, false)
	}
}

// dial orders an attempt to connect. It is to replace the connection over, 0 if there is none.
func (s *Session) dial(over ConnID, relay bool) {
	s.lastConn++
	s.dials.under, s.dials.over, s.dials.seen, s.dials.until = s.lastConn, over, s.seen, s.now+dialFor
	s.act(Action{Kind: Dial, Conn: s.lastConn, Relay: relay})
}

// progress notes that something came through.
func (s *Session) progress() { s.clock.from = s.now }

// PeerDead says that the peer's node is dead, which somebody has proved. The session is lost.
func (s *Session) PeerDead() {
	if s.lost == 0 {
		s.lose(NodeDead)
	}
}

// GiveUp ends the session for a reason that its user has. The peer hears it when it meets the next session of this node.
func (s *Session) GiveUp(why Reason) {
	if s.lost == 0 {
		s.lose(why)
	}
}

// lose ends the session, and all its streams before it.
func (s *Session) lose(why Reason) {
	if s.conn != nil {
		s.act(Action{Kind: Drop, Conn: s.conn.id})
	}
	if s.dials.under != 0 {
		s.act(Action{Kind: Drop, Conn: s.dials.under})
	}
	var open []*stream
	for _, x := range s.streams {
		if x.ended == 0 {
			open = append(open, x)
		}
	}
	slices.SortFunc(open, func(a, b *stream) int { return cmp.Compare(a.id, b.id) })
	for _, x := range open {
		s.act(Action{Kind: Ended, Stream: x.id, Why: why})
	}
	s.act(Action{Kind: Lost, Why: why})
	*s = Session{o: s.o, lost: why, now: s.now, actions: s.actions, taken: s.taken, lastConn: s.lastConn}
}
