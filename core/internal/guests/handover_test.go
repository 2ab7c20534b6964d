package guests

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// succeed hands the connections of a session over to another one.
func succeed(t *testing.T, s *session) *session {
	t.Helper()
	next := newSession(t)
	s.do(func() {
		for _, x := range s.g.Detach() {
			_ = x.Conn.SetDeadline(time.Time{}) // another process has a descriptor of its own, without the deadline
			next.g.Resume(x.Conn, x.Node, x.ID, x.RoundTrip, x.State)
		}
	})
	next.do(func() { next.g.Start() })
	return next
}

// What a process says while its connections are stopped, and what the daemon says meanwhile, comes through the
// successor's connection, in order. Neither the daemon nor the old process is told of an end.
func TestHandover_NothingIsLostOrSaidTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		s.hello, s.answers = time.Millisecond, time.Second
		for node := uint32(2); node < 4; node++ {
			s.push(node, 1)
			time.Sleep(2 * time.Second)
		}
		s.do(func() { s.g.Halt() })
		s.do(func() { s.g.Halt() })
		s.push(2, 2)
		s.push(9, 1)
		for lease := range uint64(3) {
			if err := s.daemons[0].Push(wire.TLeaseRecall, wire.LeaseRef{LeaseID: lease}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if s.wants("node 2, as long as nobody goes on", s.saidTo(2), "14 1"); s.messages() != nil || s.attempts() != 2 {
			t.Errorf("a process that has stopped hears %q, and has opened %d connections", s.messages(), s.attempts())
		}
		next := succeed(t, s)
		next.push(2, 3)
		s.wants("node 2", s.saidTo(2), "14 1", "14 2", "14 3")
		s.wants("node 3", s.saidTo(3), "14 1")
		next.wants("the successor", next.messages(), "2 31 true", "2 31 true", "2 31 true")
		next.do(func() {
			if !next.g.At(2) || !next.g.At(3) || next.g.At(9) || next.g.RoundTrip(2) != time.Millisecond {
				t.Errorf("a guest of 2: %t, of 3: %t, of 9: %t, the way to 2: %v", next.g.At(2), next.g.At(3), next.g.At(9), next.g.RoundTrip(2))
			}
		})
		if next.nameOf(2) != s.nameOf(2) || next.attempts() != 0 {
			t.Errorf("node 2 is %s and was %s; %d connections were opened", next.nameOf(2), s.nameOf(2), next.attempts())
		}
		s.daemons[1].Close()
		synctest.Wait()
		if len(next.told()) != 1 || s.told() != nil {
			t.Errorf("the end of a connection is told: %q, and to the old process: %q", next.told(), s.told())
		}
		next.end()
		s.end()
	})
}

// A connection that is being opened is not handed over, and ends. One that was lost is not either.
func TestHalt_NotOpenOrLost_IsNotHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		s.push(2, 1)
		s.daemons[0].Close()
		synctest.Wait()
		s.opens = make(chan struct{})
		s.push(3, 1)
		s.do(func() {
			if !s.g.Opening() {
				t.Error("no connection is being opened")
			}
			s.g.Halt()
			if s.g.Opening() {
				t.Error("a connection is still being opened")
			}
			if list := s.g.Detach(); list != nil {
				t.Errorf("handed over: %v", fmt.Sprint(list))
			}
		})
		if len(s.told()) != 1 {
			t.Errorf("told: %q", s.told())
		}
		s.end()
	})
}

// The sockets of a process that has ended are closed.
func TestCloseConnections_TheDaemonHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		s.push(2, 1)
		s.do(func() { s.g.CloseConnections() })
		if s.daemons[0].Err() == nil {
			t.Error("the daemon's end is open")
		}
		s.end()
	})
}
