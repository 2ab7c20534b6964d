package link

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/resume"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// session is one session with a node: a resume.Session under a lock, with its streams and connections. Each event is: lock,
// advance, the event, follow.
type session struct {
	k     *Link
	begun time.Time
	peer  *wire.Peer    // of the control stream
	began chan struct{} // closed when Control has returned
	done  chan struct{} // closed when it is lost and Down has returned

	mu         sync.Mutex
	rs         *resume.Session
	streams    map[resume.StreamID]*Stream // that are open
	control    *Stream
	order      order
	dials      map[resume.ConnID]context.CancelFunc // attempts under way
	conns      map[resume.ConnID]*conn              // that are not closed
	conn       *conn                                // the attached one; nil: none
	timer      *time.Timer
	armed      time.Duration // when the timer fires, while it is running
	running    bool
	lastDial   error     // why the last attempt failed, or the last connection ended
	complained time.Time // when the log has said last that an attempt failed
	relayed    bool      // the last connection was carried by a third node
	passes     []*Stream // what has arrived on them is to be passed on
	closing    bool      // Links.Close ends the session
	lost       *EndError // nil: it is not
}

// newSession makes one after another one was lost; nil: it is the first.
func (k *Link) newSession(before *session, keep bool) *session {
	o := k.links.c.Session
	o.Self, o.Peer, o.Keep, o.Relay = k.links.c.Self.Number, k.node, keep, k.links.c.Relay != nil
	for o.Boot == 0 {
		o.Boot = bootNumber()
	}
	rs, err := resume.New(o)
	if err != nil {
		panic(err) // Open has tried the options, and To the numbers
	}
	s := &session{
		k: k, begun: time.Now(), began: make(chan struct{}), done: make(chan struct{}), rs: rs,
		streams: map[resume.StreamID]*Stream{}, dials: map[resume.ConnID]context.CancelFunc{}, conns: map[resume.ConnID]*conn{},
	}
	s.control = s.newStream(resume.Control, nil)
	s.streams[resume.Control] = s.control
	s.timer = time.AfterFunc(time.Hour, s.tick)
	s.timer.Stop()
	var h wire.Handler
	s.peer = wire.NewPeer(s.control, func(m *wire.Message) { h(m) }, nil)
	k.links.run(func() {
		defer close(s.began)
		if !before.wait(k.links.ctx) {
			s.peer.Close()
			return
		}
		h = k.links.c.Control(k.node, s.peer)
		s.peer.Start()
		s.tick() // dials, if there must be a connection
	})
	return s
}

// wait waits until Down has returned for a session. It returns false after Links.Close.
func (s *session) wait(closing context.Context) bool {
	if s == nil {
		return true
	}
	select {
	case <-s.done:
		return true
	case <-closing.Done():
		return false
	}
}

func bootNumber() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// event lets something happen to the session, and does what follows.
func (s *session) event(what func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	err := what()
	s.follow()
	return err
}

// advance tells the session the time, before an event.
func (s *session) advance() { s.rs.Advance(time.Since(s.begun)) }

// follow does what an event asks for. Nothing here calls the session again or waits.
func (s *session) follow() {
	s.act()
	if c := s.claim(); c != nil {
		c.wake <- struct{}{} // it has room for one, and only an idle writer is woken
	}
}

// followed does what follow does, but returns the function that writes, if the caller may do that itself.
func (s *session) followed() (write func()) {
	if s.conn == nil || !s.conn.direct() {
		s.follow()
		return nil
	}
	s.act()
	if c := s.claim(); c != nil {
		return c.now
	}
	return nil
}

// act is follow without the writing.
func (s *session) act() {
	for _, a := range s.rs.Actions() {
		s.perform(a)
	}
	s.arm()
}

// claim returns the connection if it is idle and there is something to write. The caller sees to it that this is written.
func (s *session) claim() *conn {
	c := s.conn
	if c == nil || c.writing || !s.rs.Pending() {
		return nil
	}
	c.writing = true
	return c
}

func (s *session) perform(a resume.Action) {
	x := s.streams[a.Stream]
	switch a.Kind {
	case resume.Dial:
		s.dial(a.Conn, a.Relay)
	case resume.Drop:
		s.drop(a.Conn)
	case resume.Opened:
		s.opened(a.Stream, bytes.Clone(a.Bytes))
	case resume.Data:
		if x != nil {
			s.arrives(x, len(a.Bytes))
			x.in.put(a.Bytes, s.k.links.c.Session.Window, &s.k.links.rings)
			if x.passable() {
				s.passes = append(s.passes, x)
			} else {
				x.readers.Signal()
			}
		}
	case resume.Writable:
		if x != nil {
			x.writers.Broadcast()
		}
	case resume.Ended:
		if x != nil {
			x.end(s.endError(a.Why))
			delete(s.streams, a.Stream)
		}
	case resume.Lost:
		s.ends(a.Why)
	}
}

// opened hands a new stream to the user, when the control messages before it are handled.
func (s *session) opened(id resume.StreamID, target []byte) {
	x := s.newStream(id, target)
	s.streams[id] = x
	after := s.waits(x)
	s.k.links.run(func() {
		s.await(x, after)
		s.k.links.c.Serve(s.k.node, x)
	})
}

// await waits until so many control bytes are handled.
func (s *session) await(x *Stream, after uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.order.handled < after {
		x.readers.Wait()
	}
}

// drop ends a connection or an attempt.
func (s *session) drop(id resume.ConnID) {
	if stop := s.dials[id]; stop != nil {
		stop()
	}
	if c := s.conns[id]; c != nil {
		delete(s.conns, id)
		c.close()
		if s.conn == c {
			s.conn = nil
			if planted.Strikes(planted.EarlyClose) {
				s.rs.PeerDead()
			}
		}
	}
}

// endError returns what a user hears when a stream or the session ends.
func (s *session) endError(why resume.Reason) *EndError {
	e := &EndError{Node: s.k.node, Why: why}
	switch {
	case s.closing:
		e.Cause = ErrClosed
	case why == resume.NoPath:
		e.Cause = s.lastDial
	}
	return e
}

// ends is the end of the session. All streams but control have ended.
func (s *session) ends(why resume.Reason) {
	s.lost = s.endError(why)
	s.control.end(s.lost)
	s.timer.Stop()
	s.running = false
	s.k.lose(s)
}

// trouble returns why there is no connection, as far as that is known.
func (s *session) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return nil
	}
	return s.lastDial
}

// tick is called when the timer fires, or would.
func (s *session) tick() {
	_ = s.event(func() error {
		s.running = false
		return nil
	})
}

// arm sets the timer. One that fires too early does no harm.
func (s *session) arm() {
	next, some := s.rs.NextTime()
	if !some || s.running && s.armed <= next {
		return
	}
	s.running, s.armed = true, next
	s.timer.Reset(max(0, next-time.Since(s.begun)))
}

// detached says that a connection or an attempt is over.
func (s *session) detached(id resume.ConnID, why error) {
	_ = s.event(func() error {
		s.drop(id)
		s.lastDial = why
		s.rs.Detached(id)
		return nil
	})
}

// sever breaks the connections of the session, which then dials again if there must be one.
func (s *session) sever() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.under.Close() // its reader notices
	}
}
