package resume

import "time"

// The way of a session: directly to the peer, or through a third node, the relay, while there is no direct way.

const (
	relayAfter   = 5 * time.Second  // without a direct connection, the relay is used
	probePause   = 2 * time.Second  // between attempts to get a direct connection back; it doubles with each one that fell silent
	longestProbe = 32 * time.Second // such a pause at most
	trusted      = time.Minute      // a direct connection that held so long makes the pause short again
	lastChance   = time.Second      // for an attempt under way to replace a relayed connection, when that has ended
)

// direct is what the session knows of the direct way to the peer.
type direct struct {
	none  bool          // there is no direct connection
	since time.Duration // since then, or for longer: a connection that carried nothing does not count
	fell  int           // direct connections that fell silent, one soon after the other
	probe time.Duration // while a relayed connection is attached: not before this is a direct one dialed
}

// pause is how long to wait before the next attempt to get a direct connection.
func (d *direct) pause() time.Duration {
	return min(probePause<<min(max(0, d.fell-1), 10), longestProbe)
}

// noDirect notes that there has been no direct connection since some time, unless that is known.
func (s *Session) noDirect(since time.Duration) {
	if !s.direct.none {
		s.direct.none, s.direct.since = true, since
	}
}

// way notes which way the connection goes that was attached now.
func (s *Session) way(relayed bool) {
	if relayed {
		s.noDirect(s.now)
		s.direct.probe = s.now + s.direct.pause()
	}
}

// hears notes that a frame came over the attached connection.
func (s *Session) hears(k *conn) {
	k.heard, s.clock.silence = true, s.now
	if !k.relayed {
		s.direct.none = false
	}
}

// leaves notes that a connection is no longer attached, and that it has carried nothing since some time.
func (s *Session) leaves(k *conn, since time.Duration) {
	if s.dials.under != 0 && s.dials.over == k.id { // it was to replace this connection: the peer may have taken it already, and may have ended this one for that
		s.dials.until = min(s.dials.until, s.now+lastChance)
	}
	if k.relayed {
		return
	}
	if silent := since < s.now; silent {
		if s.now-k.since >= trusted {
			s.direct.fell = 0
		}
		s.direct.fell++
	} else if s.now-k.since >= steady {
		s.direct.none = false
	}
	s.noDirect(since)
}

// mayProbe reports whether a direct connection should be dialed to replace the relayed one.
func (s *Session) mayProbe() bool {
	return s.conn != nil && s.conn.relayed && s.dials.under == 0 && s.wanted()
}
