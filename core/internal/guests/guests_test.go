package guests

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// session is a process whose connections to other nodes end in daemons that the test plays.
type session struct {
	t     *testing.T
	mu    sync.Mutex
	g     *Guests
	heard []string
	lost  []string

	opens   chan struct{} // a dial goes on when it is closed; nil: at once
	refused error         // of each dial
	answers time.Duration // how long each daemon takes for an answer
	dials   int
	said    map[uint32][]string // to the daemons
	daemons []*wire.Peer
	name    []byte
	hello   time.Duration // how long each takes to welcome the process
}

func newSession(t *testing.T) *session {
	s := &session{t: t, said: map[uint32][]string{}}
	id := ids.NewNode()
	s.name = id[:]
	s.g = New(&s.mu, s, s.dial, func() wire.Hello { return wire.Hello{Role: wire.RoleGuest} }, nil)
	return s
}

// dial plays another node's daemon.
func (s *session) dial(ctx context.Context, node uint32, h wire.Hello) (net.Conn, *wire.HelloReply, error) {
	s.mu.Lock()
	s.dials++
	opens, refused, name, hello := s.opens, s.refused, s.name, s.hello
	s.mu.Unlock()
	time.Sleep(hello)
	if h.Role != wire.RoleGuest {
		s.t.Errorf("the hello says %q", h.Role)
	}
	if opens != nil {
		select {
		case <-opens:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	if refused != nil {
		return nil, nil, refused
	}
	mine, its := net.Pipe()
	p := wire.NewPeer(its, func(m *wire.Message) {
		if m.Type == wire.TWhoHolds {
			time.Sleep(s.answers)
			_ = m.Reply("")
			return
		}
		var body wire.LeaseReturn
		_ = m.Decode(&body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.said[node] = append(s.said[node], fmt.Sprint(int(m.Type), " ", body.LeaseID))
	}, nil)
	p.Start()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.daemons = append(s.daemons, p)
	return mine, &wire.HelloReply{NodeID: name}, nil
}

// Heard implements Host.
func (s *session) Heard(node uint32, m *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, fmt.Sprint(node, " ", int(m.Type), " ", s.g.Current(node, m)))
}

// HomeLost implements Host.
func (s *session) HomeLost(node uint32, why error) {
	s.lost = append(s.lost, fmt.Sprint(node, ": ", why))
}

// do calls f with the mutex, and waits until everything that follows has happened.
func (s *session) do(f func()) {
	func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
	}()
	synctest.Wait()
}

// push says something about a lease.
func (s *session) push(node uint32, lease uint64) {
	s.do(func() { s.g.Push(node, wire.TLeaseReturn, wire.LeaseReturn{LeaseID: lease}) })
}

func (s *session) wants(what string, got []string, want ...string) {
	s.t.Helper()
	if !slices.Equal(got, want) {
		s.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// end ends the session, as a client does.
func (s *session) end() {
	s.do(func() { s.g.Close() })
	for _, p := range s.daemons {
		p.Close()
	}
	synctest.Wait()
}

// What was seen so far.

func (s *session) saidTo(node uint32) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.said[node])
}

func (s *session) messages() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard)
}

func (s *session) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lost)
}

func (s *session) attempts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials
}

// guests is of how many nodes the process is a guest; it never was one if that is 0 at first.
func (s *session) guests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.g.Len(); n > 0 != s.g.Any() && s.dials == 0 {
		s.t.Errorf("%d guests, and any: %t", n, s.g.Any())
	}
	return s.g.Len()
}

func (s *session) nameOf(node uint32) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.g.Name(node)
}

// What is said before the connection is open arrives in order, and so does what is said after.
func TestPush_OpensTheConnection_InOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		s.opens = make(chan struct{})
		if s.guests() != 0 {
			t.Error("a process that nobody has sent anywhere is a guest")
		}
		s.push(2, 1)
		s.push(2, 2)
		if s.saidTo(2) != nil || s.attempts() != 1 || s.guests() != 1 {
			t.Errorf("%v was said, and %d connections are being opened", s.said, s.attempts())
		}
		close(s.opens)
		synctest.Wait()
		s.push(2, 3)
		s.push(3, 4)
		s.do(func() {
			if !s.g.Tell(2, wire.TLeaseReturn, wire.LeaseReturn{LeaseID: 5}) || s.g.Tell(4, wire.TLeaseReturn, wire.LeaseReturn{LeaseID: 6}) {
				t.Error("a node is told that this process is no guest of, or one that it is a guest of is not")
			}
		})
		s.do(func() { s.g.TellAll(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: 7}) })
		s.wants("node 2", s.saidTo(2), "14 1", "14 2", "14 3", "14 5", "14 7")
		s.wants("node 3", s.saidTo(3), "14 4", "14 7")
		if name := s.nameOf(2); s.attempts() != 2 || !strings.Contains(fmt.Sprintf("%x", s.name), name) || s.nameOf(9) != "number 9" {
			t.Errorf("%d connections; node 2 is %s, an unknown one is %s", s.attempts(), s.nameOf(2), s.nameOf(9))
		}
		s.end()
	})
}

// What is said once is said again on another connection.
func TestPushOnce_OncePerConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		once := func(name string) {
			s.do(func() { s.g.PushOnce(2, name, wire.TLeaseReturn, wire.LeaseReturn{LeaseID: uint64(len(name))}) })
		}
		once("a")
		once("a")
		once("bb")
		s.wants("the first connection", s.saidTo(2), "14 1", "14 2")
		s.daemons[0].Close()
		synctest.Wait()
		once("a")
		s.wants("the second", s.saidTo(2), "14 1", "14 2", "14 1")
		s.end()
	})
}

// A connection that ends is told once. What comes late of it is known as that, and nothing is said to a node that was lost.
func TestHomeLost_OnceWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		s.push(2, 1)
		if err := s.daemons[0].Push(wire.TLeaseGrant, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.wants("a message", s.messages(), "2 30 true")
		s.daemons[0].Close()
		synctest.Wait()
		if len(s.told()) != 1 || !strings.HasPrefix(s.told()[0], "2: ") || s.guests() != 0 {
			t.Errorf("told: %q", s.told())
		}
		s.do(func() {
			s.g.TellAll(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: 2}) // a node that was lost is told nothing
			if !s.g.Tell(2, wire.TLeaseReturn, wire.LeaseReturn{LeaseID: 2}) {
				t.Error("what is about a lease of the node that was lost goes to the own daemon")
			}
			if s.g.Current(2, new(wire.Message)) {
				t.Error("a message of the connection that has ended counts")
			}
		})
		s.push(2, 3)
		s.wants("a new connection", s.saidTo(2), "14 1", "14 3")
		if s.attempts() != 2 || len(s.told()) != 1 || s.nameOf(2) == "number 2" {
			t.Errorf("%d connections, told: %q", s.attempts(), s.told())
		}
		s.end()
		if len(s.told()) != 1 {
			t.Errorf("the end of the session is told: %q", s.told())
		}
	})
}

// A node that cannot be reached is lost a little later, not at once. A daemon that names no node counts as none.
func TestPush_NoConnection_IsLostAfterAPause(t *testing.T) {
	for what, change := range map[string]func(s *session){
		"2: nobody is there": func(s *session) { s.refused = errors.New("nobody is there") },
		"2: the daemon of node 2 names its node with 3 bytes": func(s *session) { s.name = []byte("abc") },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t)
			change(s)
			began := time.Now()
			s.push(2, 1)
			if s.push(2, 2); s.told() != nil || s.attempts() != 1 {
				t.Errorf("it is told at once: %q, after %d attempts", s.told(), s.attempts())
			}
			time.Sleep(dialPause)
			synctest.Wait()
			if s.wants("after the pause", s.told(), what); time.Since(began) != dialPause {
				t.Errorf("it took %v", time.Since(began))
			}
			s.end()
		})
	}
}

// The session may end while connections are being opened, or have just failed: nobody is told.
func TestClose_WhileOpening_NobodyIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		s.opens = make(chan struct{})
		s.push(2, 1)
		s.end()
		s.opens, s.refused = nil, errors.New("nobody is there")
		s.push(3, 1)
		if s.attempts() != 1 {
			t.Error("a connection is opened after the end")
		}
		failed := newSession(t)
		failed.refused = errors.New("nobody is there")
		failed.push(2, 1)
		failed.end()
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.told() != nil || failed.told() != nil {
			t.Errorf("told: %q, %q", s.told(), failed.told())
		}
	})
}

// A forked child must close what leads to other daemons, so each descriptor is told, before anything can be said
// through it, and when it is closed.
func TestDescriptor_ToldWhenOpenedAndWhenClosed(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range pair {
		f := os.NewFile(uintptr(fd), "end")
		if ends[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	fd := transport.Descriptor(ends[0])
	s := newSession(t)
	told := make(chan string, 4)
	id := ids.NewNode()
	s.g = New(&s.mu, s, func(context.Context, uint32, wire.Hello) (net.Conn, *wire.HelloReply, error) {
		return ends[0], &wire.HelloReply{NodeID: id[:]}, nil
	}, func() wire.Hello { return wire.Hello{} }, func(n int, open bool) { told <- fmt.Sprint(n == fd, open) })
	func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.g.Push(2, wire.TLeaseReturn, nil)
	}()
	if got := <-told; got != "true true" {
		t.Errorf("told %s", got)
	}
	ends[1].Close()
	if got := <-told; got != "true false" {
		t.Errorf("at the end: told %s", got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.g.Close(); len(told) != 0 {
		t.Errorf("told once more: %s", <-told)
	}
}
