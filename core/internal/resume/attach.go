package resume

import (
	"fmt"
	"time"
)

// Hello returns what this end says first on a connection that it was told to dial. The peer's answer goes to Attach.
func (s *Session) Hello(c ConnID) (Hello, error) {
	if s.lost != 0 || c != s.dials.under {
		return Hello{}, fmt.Errorf("hello to node %d on connection %d: %w", s.o.Peer, c, ErrConn)
	}
	s.dials.have, s.dials.boot = s.received, s.peerBoot
	h := s.hello()
	h.Dial, h.Seen = uint32(c), s.dials.seen
	return h, nil
}

func (s *Session) hello() Hello {
	h := Hello{From: s.o.Self, To: s.o.Peer, Boot: s.o.Boot, PeerBoot: s.peerBoot, Have: s.received, Seen: s.seen, Window: uint32(s.o.Window)}
	if h.PeerBoot == 0 {
		h.PeerBoot = s.met
	}
	if h.PeerBoot == s.met { // also when this end has taken a connection of the peer meanwhile: the peer does not know it
		h.Replaces = s.replaces
	}
	return h
}

// Accept takes a connection that the peer dialed, and returns its number and the answer, which is
// sent before anything else. Relayed says that a third node carries the connection. With ErrStale the answer is sent, too, and then the connection is closed. With ErrLost
// the session is over, perhaps because of this hello: then a new session can accept the connection.
func (s *Session) Accept(h Hello, relayed bool) (ConnID, Hello, error) {
	if err := s.fits(h); err != nil {
		return 0, Hello{}, err
	}
	bound := s.peerBoot != 0
	switch {
	case h.PeerBoot != 0 && h.PeerBoot != s.o.Boot:
		return 0, s.hello(), s.stale("it was for the session with boot number %x", h.PeerBoot)
	case bound && h.Boot != s.peerBoot && h.Replaces != s.peerBoot:
		// An old process may have said this, before the one with which the session is. A living one says it again, with what it learns from the answer.
		return 0, s.hello(), s.stale("the peer's boot number is %x, not %x", h.Boot, s.peerBoot)
	case bound && h.Boot != s.peerBoot:
		s.lose(PeerRestarted)
		return 0, Hello{}, fmt.Errorf("accept a connection of node %d: %w: %s", s.o.Peer, ErrLost, s.lost)
	case h.Dial <= s.seen:
		return 0, s.hello(), s.stale("it is dial %d of the peer, and %d was accepted", h.Dial, s.seen)
	}
	if err := s.hasSent(h); err != nil {
		return 0, Hello{}, err
	}
	if k := s.conn; k != nil && k.dialed && s.o.Self < s.o.Peer && h.Seen < uint32(k.id) {
		return 0, Hello{}, fmt.Errorf("accept a connection of node %d: %w", s.o.Peer, ErrSurplus)
	}
	if s.dials.under != 0 && s.o.Self > s.o.Peer {
		s.act(Action{Kind: Drop, Conn: s.dials.under})
		s.dials.under = 0
	}
	s.seen = h.Dial
	s.lastConn++
	answer := s.hello()
	answer.PeerBoot = h.Boot
	s.attach(conn{id: s.lastConn, peerSeen: h.Seen, relayed: relayed}, h, s.received)
	return s.lastConn, answer, nil
}

// Attach takes the peer's answer on a connection that this end dialed. Relayed says that a third node carries the connection. After
// an error the connection is no longer the session's.
func (s *Session) Attach(c ConnID, h Hello, relayed bool) error {
	if s.lost != 0 || c != s.dials.under {
		return fmt.Errorf("attach connection %d to node %d: %w", c, s.o.Peer, ErrConn)
	}
	s.dials.under = 0
	err := s.answered(c, h, relayed)
	if err != nil && s.lost == 0 {
		s.failed()
		s.settle()
	}
	return err
}

func (s *Session) answered(c ConnID, h Hello, relayed bool) error {
	if err := s.fits(h); err != nil {
		return err
	}
	switch {
	case s.peerBoot != s.dials.boot && h.Boot != s.peerBoot:
		// The session was bound after it had said its hello, and the answer may be older than that.
		return s.stale("the peer's boot number is %x, not %x", h.Boot, s.peerBoot)
	case s.peerBoot != 0 && h.Boot != s.peerBoot:
		s.lose(PeerRestarted)
		return fmt.Errorf("connection %d to node %d: %w: %s", c, s.o.Peer, ErrLost, s.lost)
	case h.PeerBoot != s.o.Boot:
		s.met, s.replaces = h.Boot, h.PeerBoot
		return s.stale("the peer's session is with the boot number %x", h.PeerBoot)
	}
	if err := s.hasSent(h); err != nil {
		return err
	}
	if k := s.conn; k != nil && k.id != s.dials.over && (s.o.Self > s.o.Peer || k.peerSeen >= uint32(c)) {
		return fmt.Errorf("connection %d to node %d: %w", c, s.o.Peer, ErrSurplus)
	}
	s.attach(conn{id: c, dialed: true, peerSeen: h.Seen, relayed: relayed}, h, s.dials.have)
	return nil
}

// fits returns an error when a hello is not for this session's pair of nodes.
func (s *Session) fits(h Hello) error {
	switch {
	case s.lost != 0:
		return fmt.Errorf("hello of node %d: %w: %s", h.From, ErrLost, s.lost)
	case h.From != s.o.Peer || h.To != s.o.Self:
		return fmt.Errorf("%w: it is from node %d to node %d, and the session is between node %d and node %d", ErrHello, h.From, h.To, s.o.Peer, s.o.Self)
	case h.Window != uint32(s.o.Window):
		return fmt.Errorf("%w: node %d has windows of %d bytes, this node of %d", ErrHello, h.From, h.Window, s.o.Window)
	case h.Boot == 0:
		return fmt.Errorf("%w: node %d has boot number 0", ErrHello, h.From)
	}
	return nil
}

// hasSent returns an error when the peer says that it has frames which were never sent to it.
func (s *Session) hasSent(h Hello) error {
	if h.Have > s.made {
		return fmt.Errorf("%w: node %d has frame %d, and the last one made for it is %d", ErrHello, h.From, h.Have, s.made)
	}
	return nil
}

func (s *Session) stale(format string, args ...any) error {
	return fmt.Errorf("connection with node %d: %w: %s", s.o.Peer, ErrStale, fmt.Sprintf(format, args...))
}

// attach makes a connection the one of the session. The peer has said what it has, and was told that this end has the frames up to told.
func (s *Session) attach(k conn, h Hello, told uint64) {
	if s.conn != nil {
		s.act(Action{Kind: Drop, Conn: s.conn.id})
	}
	s.peerBoot = h.Boot
	k.since = s.now
	s.slot = k
	s.conn = &s.slot
	s.way(k.relayed)
	s.ack = ack{told: told, at: s.now + ackAfter}
	s.clock.silence = s.now
	s.acknowledged(h.Have)
	s.settle()
}

// Detached says that a connection, or an attempt to dial it, is over.
func (s *Session) Detached(c ConnID) {
	switch {
	case s.lost != 0 || c == 0:
	case c == s.dials.under:
		s.dials.under = 0
		s.failed()
		s.settle()
	case s.conn != nil && s.conn.id == c:
		s.detach(s.now)
		s.settle()
	}
}

// drop gives up the attached connection, which has carried nothing since some time.
func (s *Session) drop(since time.Duration) {
	s.act(Action{Kind: Drop, Conn: s.conn.id})
	s.detach(since)
}

// detach forgets the attached connection. The node with the lower number dials at once, and the other one if that does not help.
func (s *Session) detach(since time.Duration) {
	k := s.conn
	s.conn = nil
	s.leaves(k, since)
	if k.heard || s.now-k.since >= steady {
		s.dials.tries = 0
		s.dials.next = s.now
	} else {
		s.failed()
	}
	if s.o.Self > s.o.Peer {
		s.dials.next = max(s.dials.next, s.now+giveWay)
	}
}

// failed counts an attempt in vain. The next one comes after a pause, which grows if there is no connection.
func (s *Session) failed() {
	if s.conn != nil {
		s.direct.probe = s.now + s.direct.pause()
		return
	}
	longest := longestPause
	if s.o.Keep {
		longest = keptPause
	}
	s.dials.next = s.now + min(firstPause<<min(s.dials.tries, 10), longest)
	s.dials.tries++
	if relay := s.direct.since + relayAfter; s.o.Relay && s.direct.none && relay > s.now {
		s.dials.next = min(s.dials.next, relay)
	}
}
