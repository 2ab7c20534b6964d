package pki

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// What processes may use that have not proved anything yet.
const (
	strangerCount = 64              // at a time
	strangerBytes = 16 << 10        // that each may send, TLS included
	strangerTime  = 5 * time.Second // that each may take
	strangerGrace = time.Second     // for which nobody takes its place
)

// Gate bounds the connections to a process whose other end has not proved anything yet. When
// all places are taken, a new one gets the place of the one that has been there for the
// longest time, but nobody loses its place in the first second.
type Gate struct {
	mu    sync.Mutex
	open  []*Stranger   // in the order in which they came
	freed chan struct{} // closed and made anew when a place becomes free

	failures failures
}

// NewGate returns one with all places free.
func NewGate() *Gate {
	return &Gate{freed: make(chan struct{}), failures: failures{from: map[netip.Addr]*budget{}}}
}

// Stranger is a connection whose other end has not proved anything yet. Its reads fail when
// it has sent too much, and no deadline of it is later than the end of its time. Known lifts
// that; Close closes the connection.
type Stranger struct {
	net.Conn
	gate  *Gate
	from  netip.Addr // that its failure counts for
	since time.Time
	left  atomic.Int64 // bytes that it may send; negative: it is known
	ended sync.Once    // by Close
}

// ErrPlaceLost is the error of a connection that has proved itself after it had lost its place.
var ErrPlaceLost = errors.New("closed to make room for others that join")

// ErrTooMany is the error of a connection from an address of which too many have proved nothing.
var ErrTooMany = errors.New("too many connections of this address have proved nothing")

// Enter gives a connection a place, and waits for one while there is none. The caller then
// calls Known, or closes the Stranger. When Enter fails, it has closed the connection: with ErrTooMany at once.
func (g *Gate) Enter(ctx context.Context, c net.Conn) (*Stranger, error) {
	s := &Stranger{Conn: c, gate: g, from: sourceOf(c)}
	if g.failures.over(s.from, time.Now()) {
		c.Close()
		return nil, fmt.Errorf("%s: %w", c.RemoteAddr(), ErrTooMany)
	}
	s.left.Store(strangerBytes)
	for entered := false; !entered; {
		var wait time.Duration
		var freed <-chan struct{}
		var evicted *Stranger
		entered, wait, freed, evicted = g.try(s)
		if evicted != nil {
			evicted.Conn.Close()
		}
		if entered {
			break
		}
		timer := time.NewTimer(wait)
		select {
		case <-freed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			c.Close()
			return nil, fmt.Errorf("%s waits for a place: %w", c.RemoteAddr(), context.Cause(ctx))
		}
		timer.Stop()
	}
	if err := c.SetDeadline(s.since.Add(strangerTime)); err != nil {
		s.Close()
		return nil, fmt.Errorf("bound the time of %s: %w", c.RemoteAddr(), err)
	}
	return s, nil
}

// try takes a place, from the oldest one if need be. If nobody may lose its place yet, it says
// for how long, and what tells that a place is free before.
func (g *Gate) try(s *Stranger) (entered bool, wait time.Duration, freed <-chan struct{}, evicted *Stranger) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if len(g.open) >= strangerCount {
		if wait = strangerGrace - now.Sub(g.open[0].since); wait > 0 {
			return false, wait, g.freed, nil
		}
		evicted = g.open[0]
		g.open = slices.Delete(g.open, 0, 1)
	}
	s.since = now
	g.open = append(g.open, s)
	return true, 0, nil, evicted
}

// leave gives a place back. It reports whether the connection still had one.
func (g *Gate) leave(s *Stranger) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.open, s)
	if i < 0 {
		return false
	}
	g.open = slices.Delete(g.open, i, i+1)
	close(g.freed)
	g.freed = make(chan struct{})
	return true
}

// Known says that the other end has proved itself: it gives the place back and lifts the
// bounds. It fails when the connection has lost its place meanwhile, and then is closed.
func (s *Stranger) Known() error {
	if !s.gate.leave(s) {
		return fmt.Errorf("%s: %w", s.RemoteAddr(), ErrPlaceLost)
	}
	s.left.Store(-1)
	return s.Conn.SetDeadline(time.Time{})
}

// Read is that of the connection, within the bounds. One goroutine reads at a time.
func (s *Stranger) Read(b []byte) (int, error) {
	left := s.left.Load()
	if left < 0 {
		return s.Conn.Read(b)
	}
	if left == 0 {
		return 0, fmt.Errorf("%w: %s has sent %d bytes without a proof", ErrNotProved, s.RemoteAddr(), strangerBytes)
	}
	n, err := s.Conn.Read(b[:min(int64(len(b)), left)])
	s.left.Add(-int64(n)) // stays negative if it has become known meanwhile
	return n, err
}

// SetDeadline is that of the connection, within the bounds.
func (s *Stranger) SetDeadline(t time.Time) error { return s.Conn.SetDeadline(s.bound(t)) }

// SetReadDeadline is that of the connection, within the bounds.
func (s *Stranger) SetReadDeadline(t time.Time) error { return s.Conn.SetReadDeadline(s.bound(t)) }

// SetWriteDeadline is that of the connection, within the bounds.
func (s *Stranger) SetWriteDeadline(t time.Time) error { return s.Conn.SetWriteDeadline(s.bound(t)) }

func (s *Stranger) bound(t time.Time) time.Time {
	if end := s.since.Add(strangerTime); s.left.Load() >= 0 && (t.IsZero() || t.After(end)) {
		return end
	}
	return t
}

// Close gives the place back and closes the connection.
func (s *Stranger) Close() error {
	s.ended.Do(func() {
		if s.left.Load() >= 0 {
			s.gate.failures.add(s.from, time.Now())
		}
	})
	s.gate.leave(s)
	return s.Conn.Close()
}
