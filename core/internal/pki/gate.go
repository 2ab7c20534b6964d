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
	strangerGrace = time.Second     // for which no other one of an address with as many places takes its place
	lineOfOne     = 64              // of an address that wait for a place
	lineOfAll     = 256             // that wait for a place
)

// Gate bounds the connections to a process whose other end has not proved anything yet. The addresses from which they come
// share the places evenly: when all places are taken, a new connection gets the place of the oldest one of the address that has
// most, if that has at least two more than its own address. Else it waits, until one becomes free or one of an address with as
// many has had its place for a second.
type Gate struct {
	mu      sync.Mutex
	sources map[netip.Addr]*source // those with connections
	placed  int                    // all that have a place
	waiting int                    // all that wait for one
	came    uint64                 // numbers them
	timer   *time.Timer            // calls tick; nil: nobody has waited yet

	failures failures
}

// source has the connections of an address, in the order in which they got a place or came.
type source struct{ open, line []*Stranger }

// NewGate returns one with all places free.
func NewGate() *Gate {
	return &Gate{sources: map[netip.Addr]*source{}, failures: failures{from: map[netip.Addr]*budget{}}}
}

// Stranger is a connection whose other end has not proved anything yet. Its reads fail when
// it has sent too much, and no deadline of it is later than the end of its time. Known lifts
// that; Close closes the connection.
type Stranger struct {
	net.Conn
	gate   *Gate
	from   netip.Addr   // that its failure counts for
	number uint64       // it is the number-th that came
	turn   chan error   // says that it has a place, or that it gets none; has room for one
	since  time.Time    // when it got a place; zero: it waits. Guarded by Gate.mu until turn has said so
	left   atomic.Int64 // bytes that it may send; negative: it is known
	ended  sync.Once    // by Close
}

// ErrPlaceLost is the error of a connection that has proved itself after it had lost its place.
var ErrPlaceLost = errors.New("closed to make room for others that join")

// ErrTooMany is the error of a connection from an address of which too many have proved nothing.
var ErrTooMany = errors.New("too many connections of this address have proved nothing")

// ErrLineFull is the error of a connection that has no place and cannot wait for one.
var ErrLineFull = errors.New("too many connections wait until they may prove something")

// Arrive takes a connection, and waits for nothing. The caller then calls Wait. When Arrive fails, it has closed the connection.
func (g *Gate) Arrive(c net.Conn) (*Stranger, error) {
	s := &Stranger{Conn: c, gate: g, from: SourceOf(c), turn: make(chan error, 1)}
	if g.failures.over(s.from, time.Now()) {
		c.Close()
		return nil, fmt.Errorf("%s: %w", c.RemoteAddr(), ErrTooMany)
	}
	s.left.Store(strangerBytes)
	taken, evicted := g.take(s)
	closeAll(evicted)
	if !taken {
		c.Close()
		return nil, fmt.Errorf("%s: %w", c.RemoteAddr(), ErrLineFull)
	}
	return s, nil
}

// Wait waits until the connection has a place, and begins its time. The caller then calls Known, or Close. When Wait fails, it has
// closed the connection. It is called once.
func (s *Stranger) Wait(ctx context.Context) error {
	select {
	case err := <-s.turn:
		if err == nil {
			err = s.Conn.SetDeadline(s.since.Add(strangerTime))
		}
		if err != nil {
			s.Close()
			return fmt.Errorf("%s: %w", s.RemoteAddr(), err)
		}
		return nil
	case <-ctx.Done():
		s.Close()
		return fmt.Errorf("%s waits for a place: %w", s.RemoteAddr(), context.Cause(ctx))
	}
}

// Enter is Arrive and Wait.
func (g *Gate) Enter(ctx context.Context, c net.Conn) (*Stranger, error) {
	s, err := g.Arrive(c)
	if err == nil {
		err = s.Wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func closeAll(evicted []*Stranger) {
	for _, s := range evicted {
		s.Conn.Close()
	}
}

// take puts a connection into the line of its address, and gives places to those whose turn it is. It reports false if the line has
// no room. The caller closes those that it returns.
func (g *Gate) take(s *Stranger) (taken bool, evicted []*Stranger) {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.sources[s.from]
	if own != nil && len(own.line) >= lineOfOne {
		return false, nil
	}
	if own == nil {
		own = &source{}
	}
	if g.waiting >= lineOfAll {
		longest := g.longest()
		if len(longest.line) < len(own.line)+2 {
			return false, nil
		}
		last := longest.line[len(longest.line)-1]
		longest.line = longest.line[:len(longest.line)-1]
		g.waiting--
		last.turn <- ErrLineFull
	}
	g.came++
	s.number = g.came
	own.line = append(own.line, s)
	g.sources[s.from] = own
	g.waiting++
	return true, g.fill(time.Now())
}

// longest returns the address with the longest line.
func (g *Gate) longest() (longest *source) {
	for _, one := range g.sources {
		if longest == nil || len(one.line) > len(longest.line) {
			longest = one
		}
	}
	return longest
}

// fill gives places to those that wait, as long as there is one to give. It returns those that have lost theirs.
func (g *Gate) fill(now time.Time) (evicted []*Stranger) {
	for g.waiting > 0 {
		next := g.next()
		if g.placed >= strangerCount {
			victim, wait := g.victim(len(next.open), now)
			if wait > 0 {
				g.again(wait)
				break
			}
			g.drop(victim)
			evicted = append(evicted, victim)
		}
		s := next.line[0]
		next.line = slices.Delete(next.line, 0, 1)
		next.open = append(next.open, s)
		g.waiting, g.placed = g.waiting-1, g.placed+1
		s.since = now
		s.turn <- nil
	}
	return evicted
}

// next returns the address whose turn it is: of those for which connections wait the one that has fewest places, and then the
// one whose connection came first.
func (g *Gate) next() (next *source) {
	for _, one := range g.sources {
		if len(one.line) == 0 {
			continue
		}
		if next == nil || len(one.open) < len(next.open) || len(one.open) == len(next.open) && one.line[0].number < next.line[0].number {
			next = one
		}
	}
	return next
}

// victim returns whose place a connection gets whose address has some places already, and how long it waits for that. An address that
// has at least two more gives its oldest one at once. Else it is the oldest of all of which the addresses have at least as many.
func (g *Gate) victim(places int, now time.Time) (victim *Stranger, wait time.Duration) {
	var most *source
	for _, one := range g.sources {
		if most == nil || len(one.open) > len(most.open) {
			most = one
		}
		if n := len(one.open); n > 0 && n >= places && (victim == nil || one.open[0].since.Before(victim.since)) {
			victim = one.open[0]
		}
	}
	if len(most.open) >= places+2 {
		return most.open[0], 0
	}
	return victim, strangerGrace - now.Sub(victim.since)
}

// again calls tick after a while.
func (g *Gate) again(wait time.Duration) {
	if g.timer == nil {
		g.timer = time.AfterFunc(wait, g.tick)
		return
	}
	g.timer.Reset(wait)
}

// tick gives places to those that wait.
func (g *Gate) tick() { closeAll(g.filled()) }

func (g *Gate) filled() []*Stranger {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fill(time.Now())
}

// drop takes a connection out, and reports whether it had a place.
func (g *Gate) drop(s *Stranger) bool {
	own := g.sources[s.from]
	if own == nil {
		return false
	}
	open, line := slices.Index(own.open, s), slices.Index(own.line, s)
	if open >= 0 {
		own.open = slices.Delete(own.open, open, open+1)
		g.placed--
	}
	if line >= 0 {
		own.line = slices.Delete(own.line, line, line+1)
		g.waiting--
	}
	if len(own.open) == 0 && len(own.line) == 0 {
		delete(g.sources, s.from)
	}
	return open >= 0
}

// leave gives a place back. It reports whether the connection still had one, and whether it has ever had one.
func (g *Gate) leave(s *Stranger) (had, ever bool) {
	had, ever, evicted := g.left(s)
	closeAll(evicted)
	return had, ever
}

func (g *Gate) left(s *Stranger) (had, ever bool, evicted []*Stranger) {
	g.mu.Lock()
	defer g.mu.Unlock()
	had = g.drop(s)
	return had, !s.since.IsZero(), g.fill(time.Now())
}

// Known says that the other end has proved itself: it gives the place back and lifts the
// bounds. It fails when the connection has lost its place meanwhile, and then is closed.
func (s *Stranger) Known() error {
	if had, _ := s.gate.leave(s); !had {
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

// Close gives the place back and closes the connection. That counts as a failure of its address, if the other end had a place and has proved nothing.
func (s *Stranger) Close() error {
	_, ever := s.gate.leave(s)
	s.ended.Do(func() {
		if ever && s.left.Load() >= 0 {
			s.gate.failures.add(s.from, time.Now())
		}
	})
	return s.Conn.Close()
}
