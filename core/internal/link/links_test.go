package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/resume"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// files is how many descriptors this process has.
func files(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestLinks_Close_LeavesNothing(t *testing.T) {
	for _, kind := range []string{"plain", "tls", "unix"} {
		n := newNetwork(t, kind)
		goroutines, descriptors := runtime.NumGoroutine(), files(t)
		for range 3 {
			a, b := n.node(1, nil), n.node(2, nil)
			reading := make(chan error, 4)
			for range 4 {
				s := open(t, a, 2)
				exchange(t, s, make([]byte, 10))
				go func() { _, err := s.Read(make([]byte, 1)); reading <- err }() // it is not closed
			}
			bulk, err := to(t, a, 2).Bulk(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			exchange(t, bulk, make([]byte, 10)) // nor is this
			peer, err := to(t, a, 2).Control()
			if err != nil {
				t.Fatal(err)
			}
			if err := peer.Call(t.Context(), wire.TRunning, nil, nil); err != nil {
				t.Fatal(err)
			}
			a.Close()
			for range 4 {
				if err := arrives(t, reading, "the end of a stream"); !errors.Is(err, ErrClosed) || errors.Is(err, io.EOF) {
					t.Errorf("a stream of links that are closed ended with %v", err)
				}
			}
			if _, err := a.To(2); !errors.Is(err, ErrClosed) {
				t.Errorf("links that are closed: %v", err)
			}
			b.Close()
			if err := a.Accept(must(net.Pipe())); !errors.Is(err, ErrClosed) {
				t.Errorf("accepted: %v", err)
			}
		}
		for end := time.Now().Add(soon); runtime.NumGoroutine() > goroutines || files(t) > descriptors; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				all := make([]byte, 1<<20)
				t.Fatalf("%s: %d goroutines before and %d afterwards, %d descriptors and %d\n%s", kind,
					goroutines, runtime.NumGoroutine(), descriptors, files(t), all[:runtime.Stack(all, true)])
			}
		}
	}
}

func must(x, _ net.Conn) net.Conn { return x }

func TestLinks_Dead_EndsEverythingForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, "pipe")
		down := make(chan error, 2)
		a := n.node(1, func(c *Config) { c.Down = func(_ uint32, why error) { down <- why } })
		declared := make(chan string, 1)
		b := n.node(2, func(c *Config) {
			c.Declared = func(by uint32, why string) {
				select {
				case declared <- fmt.Sprintf("by %d: %s", by, why):
				default:
				}
			}
		})
		s := open(t, a, 2)
		exchange(t, s, []byte("x"))
		bulk, err := to(t, a, 2).Bulk(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a.Dead(2)
		a.Dead(2) // is no second end
		if _, err := s.Read(make([]byte, 1)); s.Ended() != resume.NodeDead || !errors.Is(err, ErrEnded) {
			t.Errorf("the stream ended with %v", err)
		}
		if _, err := bulk.Read(make([]byte, 1)); err == nil {
			t.Error("a bulk connection to a dead node can be read")
		}
		<-down
		if _, err := to(t, a, 2).Open(nil); !errors.Is(err, ErrDead) {
			t.Errorf("a stream to a dead node: %v", err)
		}
		if _, err := to(t, a, 2).Control(); !errors.Is(err, ErrDead) {
			t.Errorf("control messages to a dead node: %v", err)
		}
		if _, err := to(t, a, 2).Bulk(t.Context()); !errors.Is(err, ErrDead) {
			t.Errorf("a bulk connection to a dead node: %v", err)
		}
		if _, err := to(t, b, 1).Bulk(t.Context()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "dead") {
			t.Errorf("a node that was declared dead dials: %v", err)
		}
		back := open(t, b, 1)
		if _, err := back.Read(make([]byte, 1)); !strings.Contains(err.Error(), "the node is dead") {
			t.Errorf("a stream of a node that was declared dead: %v", err)
		}
		if text := <-declared; !strings.Contains(text, "by 1: ") || !strings.Contains(text, "dead") {
			t.Errorf("the node that was declared dead hears %q", text)
		}
		synctest.Wait()
		if len(down) != 0 {
			t.Errorf("the end was told twice: %v", <-down)
		}
	})
}

// A connection whose other end was checked before Redial, and that would be attached after it, comes to nothing, whichever end has dialed. Sessions dial again.
func TestLinks_Redial_ConnectionThatIsBeingMade_IsNotAttached(t *testing.T) {
	for _, dials := range []uint32{1, 2} {
		n := newNetwork(t, "tls")
		config := keys(t, n.authority, identity(1))
		var checks atomic.Int32
		var l *Links
		l = n.node(1, func(c *Config) {
			c.TLS = func(protocols ...string) *tls.Config {
				tc := config(protocols...)
				check := tc.VerifyConnection
				tc.VerifyConnection = func(s tls.ConnectionState) error {
					err := check(s)
					if checks.Add(1) <= 2 {
						l.Redial()
					}
					return err
				}
				return tc
			}
		})
		other := n.node(2, nil)
		from := l
		if dials == 2 {
			from = other
		}
		if c, err := to(t, from, 3-dials).Bulk(t.Context()); err == nil {
			c.Close()
			t.Errorf("node %d has dialed: a bulk connection is attached", dials)
		} else if dials == 1 && !errors.Is(err, ErrOutdated) || dials == 2 && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), ErrOutdated.Error())) {
			t.Errorf("node %d has dialed: %v", dials, err)
		}
		exchange(t, open(t, from, 3-dials), []byte("on the next connection"))
		if count := checks.Load(); count < 3 {
			t.Errorf("node %d has dialed: the session is on the connection of check %d", dials, count)
		}
	}
}

// Each kind of other member is refused, by the one that dialed or by the one that was dialed, and the text says why.
func TestLinks_OtherMembers_AreRefusedWithAText(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*Config)
		says   string
	}{
		"cluster":    {func(c *Config) { c.Self.Cluster[5] = 9 }, "belongs to cluster"},
		"number":     {func(c *Config) { c.Self.Number = 7 }, "it is node 7"},
		"own number": {func(c *Config) { c.Self.Number = 1 }, "both ends have number 1"},
	} {
		for _, kind := range []string{"plain", "tls", "unix"} {
			n := newNetwork(t, kind)
			a := n.node(1, nil)
			n.node(2, x.change)
			_, err := to(t, a, 2).Bulk(t.Context())
			if !errors.Is(err, ErrStranger) && !errors.Is(err, pki.ErrStranger) || !errors.Is(err, pki.ErrStranger) && !strings.Contains(err.Error(), x.says) {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
		}
	}
}

// After a recovery of the heads nodes live on, and heads that were left behind are none any more.
func TestLinks_Generations_NodesLiveOnAndFormerHeadsDoNot(t *testing.T) {
	as := func(role pki.Role, generation uint32) func(*Config) {
		return func(c *Config) { c.Self.Role, c.Self.Generation = role, generation }
	}
	for name, x := range map[string]struct {
		from, at func(*Config)
		meet     bool
	}{
		"a node and a recovered head":    {as(pki.RoleNode, 1), as(pki.RoleHead, 2), true},
		"a later node and a former head": {as(pki.RoleNode, 2), as(pki.RoleHead, 1), false},
		"a former head and a later node": {as(pki.RoleHead, 1), as(pki.RoleNode, 2), false},
		"two nodes":                      {as(pki.RoleNode, 1), as(pki.RoleNode, 2), true},
		"two heads":                      {as(pki.RoleHead, 1), as(pki.RoleHead, 2), false},
		"two heads of today":             {as(pki.RoleHead, 2), as(pki.RoleHead, 2), true},
	} {
		n := newNetwork(t, "tls")
		a := n.node(1, x.from)
		n.node(2, x.at)
		c, err := to(t, a, 2).Bulk(t.Context())
		if x.meet != (err == nil) || err != nil && !errors.Is(err, ErrStranger) && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			c.Close()
		}
	}
	n := newNetwork(t, "tls")
	a := n.node(1, as(pki.RoleNode, 1))
	later := n.node(2, as(pki.RoleHead, 3))
	if c, err := to(t, a, 2).Bulk(t.Context()); err != nil {
		t.Fatal(err)
	} else {
		c.Close()
	}
	later.Close()
	n.node(2, as(pki.RoleHead, 2))
	if _, err := to(t, a, 2).Bulk(t.Context()); !errors.Is(err, ErrStranger) {
		t.Errorf("a head of a generation before one that the node has met: %v", err)
	}
}

// A node that does not check whom it dials hears from the other one why it is refused.
func TestLinks_Accept_ToldWhyItRefuses(t *testing.T) {
	admit := errors.New("node 1 has been revoked")
	for name, x := range map[string]struct {
		greet greeting
		self  pki.Identity
		says  string
	}{
		"number":     {greeting{forBulk, 5, nil}, identity(1), "here is node 2, and not node 5"},
		"generation": {greeting{forBulk, 2, nil}, pki.Identity{Cluster: pki.Cluster{1}, Generation: 0, Role: pki.RoleHead, Number: 1}, "of generation 0"},
		"cluster":    {greeting{forBulk, 2, nil}, pki.Identity{Cluster: pki.Cluster{3}, Generation: 1, Role: pki.RoleNode, Number: 1}, "belongs to cluster"},
		"purpose":    {greeting{9, 2, nil}, identity(1), "purpose 9"},
		"hello":      {greeting{forLink, 2, []byte("short")}, identity(1), "it has 5 bytes"},
		"admit":      {greeting{forBulk, 2, nil}, identity(1), "has been revoked"},
		"role":       {greeting{forBulk, 2, nil}, identity(1), "nothing to say to a node"},
	} {
		for _, kind := range []string{"plain", "unix"} {
			n := newNetwork(t, kind)
			n.node(2, func(c *Config) {
				switch name {
				case "admit":
					c.Admit = func(pki.Identity) error { return admit }
				case "role":
					c.Fits = func(pki.Identity) error { return errors.New("it has nothing to say to a node") }
				}
			})
			liar := n.node(1, func(c *Config) { c.Self = x.self })
			nc, err := n.dial(2)
			if err != nil {
				t.Fatal(err)
			}
			_ = nc.SetDeadline(time.Now().Add(soon))
			m, err := liar.meet(t.Context(), nc)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.nc.Write(x.greet.encode()); err != nil {
				t.Fatal(err)
			}
			status, body, err := readReply(m.nc)
			if status != refused || !strings.Contains(string(body), x.says) {
				t.Errorf("%s, %s: answer %d, %q, %v", name, kind, status, body, err)
			}
			if _, err := m.nc.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("%s: it is not closed: %v", name, err)
			}
			nc.Close()
		}
	}
}

func TestLinks_RoleOfTheDialedEndDoesNotFit_IsRefused(t *testing.T) {
	for _, kind := range []string{"tls", "plain", "unix"} {
		n := newNetwork(t, kind)
		a := n.node(1, func(c *Config) {
			c.Fits = func(peer pki.Identity) error { return fmt.Errorf("a %s has nothing to say here", peer.Role) }
		})
		n.node(2, nil)
		if _, err := to(t, a, 2).Bulk(t.Context()); !errors.Is(err, ErrStranger) || !strings.Contains(err.Error(), "a node has nothing to say here") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestLinks_WrongToken_IsRefused(t *testing.T) {
	n := newNetwork(t, "plain")
	a := n.node(1, nil)
	n.node(2, func(c *Config) {
		c.Tokens = func() []pki.Token { return []pki.Token{pki.NewToken("another file")} }
	})
	if _, err := to(t, a, 2).Bulk(t.Context()); !errors.Is(err, pki.ErrWrongToken) {
		t.Errorf("a node with another token: %v", err)
	}
}

// One process without TLS and one with it tell each other apart.
func TestLinks_OnlyOneHasTLS_SaysSo(t *testing.T) {
	n := newNetwork(t, "tls")
	a := n.node(1, nil)
	n.authority = nil
	b := n.node(2, nil)
	if _, err := to(t, a, 2).Bulk(t.Context()); err == nil {
		t.Error("a bulk connection with TLS to a process without")
	}
	x, y, err := tcpPair()
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := x.Write([]byte{0x16, 3, 1}); err != nil { // TLS begins so
		t.Fatal(err)
	}
	if err := b.Accept(y); !errors.Is(err, ErrGreeting) || !strings.Contains(err.Error(), "TLS") {
		t.Errorf("TLS to a process without: %v", err)
	}
}

// Over real listeners, the addresses of a node are tried in turn, and a path is a Unix socket.
func TestLinks_Listen_AddressesInTurn(t *testing.T) {
	authority := newAuthority(t)
	path := filepath.Join(t.TempDir(), "link")
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unix, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := gone.Addr().String()
	gone.Close()
	start := func(number uint32, addresses ...string) *Links {
		c := Config{
			Self: identity(number), TLS: keys(t, authority, identity(number)),
			Resolve: func(uint32) []string { return addresses },
			Serve:   func(_ uint32, s *Stream) { echo(s) },
			Bulk:    func(_ uint32, c net.Conn) { echo(c) },
			Control: func(uint32, *wire.Peer) wire.Handler { return func(*wire.Message) {} },
			Down:    func(uint32, error) {},
			Log:     slog.New(slog.DiscardHandler),
		}
		l, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		return l
	}
	b := start(2)
	listening := listen(b, tcp, unix)
	for _, addresses := range [][]string{{tcp.Addr().String()}, {path}, {nobody, path + "x", tcp.Addr().String()}} {
		a := start(1, addresses...)
		s := open(t, a, 2)
		exchange(t, s, []byte("over "+addresses[0]))
		s.Close()
		a.Close()
	}
	if _, err := to(t, start(3), 2).Bulk(t.Context()); !errors.Is(err, ErrAddress) {
		t.Errorf("a node without an address: %v", err)
	}
	if _, err := to(t, start(4, nobody), 2).Bulk(t.Context()); err == nil || !strings.Contains(err.Error(), "node 2 at "+nobody) {
		t.Errorf("nobody listens: %v", err)
	}
	b.Close()
	for range 2 {
		if err := arrives(t, listening, "the end of Listen"); err != nil {
			t.Error(err)
		}
	}
	if _, err := net.Dial("tcp", tcp.Addr().String()); err == nil {
		t.Error("the listener is open after Close")
	}
}

func listen(l *Links, from ...net.Listener) chan error {
	done := make(chan error, len(from))
	for _, x := range from {
		go func() { done <- l.Listen(x) }()
	}
	return done
}

func TestLinks_Join_IsToldFromLinks(t *testing.T) {
	for _, insecure := range []bool{false, true} {
		n := newNetwork(t, "plain")
		if !insecure {
			n = newNetwork(t, "tls")
		}
		head := func(c *Config) {
			c.Join = func(ctx context.Context, s *pki.Stranger, ch pki.Channel) {
				defer s.Close()
				_ = pki.JoinServer(ctx, ch, []pki.Token{theToken()}, func(_ context.Context, ask pki.Ask) (pki.Answer, error) {
					return pki.Answer{Body: append([]byte("welcome "), ask.Body...)}, s.Known()
				})
			}
		}
		for _, serves := range []bool{true, false} {
			change := head
			if !serves {
				change = nil
			}
			l := n.node(2, change)
			from, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			listen(l, from)
			answer, err := join(t, from.Addr().String(), insecure)
			if serves && (err != nil || string(answer.Body) != "welcome me") || !serves && err == nil {
				t.Errorf("insecure %v, serves joins %v: %q, %v", insecure, serves, answer.Body, err)
			}
			a := n.node(1, nil)
			s := open(t, a, 2) // links are served beside
			exchange(t, s, []byte("x"))
			s.Close()
			a.Close()
			l.Close()
		}
	}
}

func join(t *testing.T, address string, insecure bool) (pki.Answer, error) {
	c, ch, err := DialJoin(t.Context(), address, insecure)
	if err != nil {
		return pki.Answer{}, err
	}
	defer c.Close()
	return pki.JoinClient(t.Context(), ch, theToken(), pki.Ask{Body: []byte("me")})
}

func TestOpen_WhatIsMissing_IsNamed(t *testing.T) {
	if _, err := Open(Config{}); err == nil || !strings.Contains(err.Error(), "Resolve") {
		t.Errorf("nothing is given: %v", err)
	}
	n := newNetwork(t, "plain")
	good := n.node(1, nil).c
	noToken, window := good, good
	noToken.Tokens = nil
	window.Session.Window = 1
	if _, err := Open(noToken); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("no token: %v", err)
	}
	if _, err := Open(window); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("a window of one byte: %v", err)
	}
	if _, err := n.nodes[1].To(1); err == nil {
		t.Error("a link to itself")
	}
}
