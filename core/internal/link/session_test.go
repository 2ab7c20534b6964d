package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/internal/resume"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// conns is how many connections a node has with another one.
func conns(t *testing.T, l *Links, node uint32) int {
	s, err := to(t, l, node).session()
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func TestSession_BothDialAtOnce_OneConnectionStays(t *testing.T) {
	for _, late := range []uint32{1, 2} { // the node whose dials take longer
		synctest.Test(t, func(t *testing.T) {
			n := newNetwork(t, "pipe")
			var links [2]*Links
			for i := range links {
				links[i] = n.node(uint32(i+1), func(c *Config) { c.Down = func(_ uint32, why error) { t.Error(why) } })
				dial := links[i].c.dial
				links[i].c.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if uint32(i+1) == late {
						time.Sleep(time.Microsecond)
					}
					return dial(ctx, network, address)
				}
			}
			for range 20 {
				var both sync.WaitGroup
				for i, l := range links {
					both.Go(func() {
						s := open(t, l, uint32(2-i))
						defer s.Close()
						exchange(t, s, make([]byte, 100<<10))
					})
				}
				both.Wait()
				synctest.Wait()
				if x, y := conns(t, links[0], 2), conns(t, links[1], 1); x != 1 || y != 1 {
					t.Fatalf("node 1 has %d connections and node 2 has %d, both must have one", x, y)
				}
				n.cut(false)
				time.Sleep(10 * time.Second)
			}
		})
	}
}

func TestSession_PeerRestarts_StreamsEndAndNewOnesWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, "pipe")
		var told []string
		a := n.node(1, func(c *Config) {
			c.Down = func(node uint32, why error) { told = append(told, why.Error()) }
			c.Control = func(uint32, *wire.Peer) wire.Handler {
				told = append(told, "control")
				return func(*wire.Message) {}
			}
		})
		b := n.node(2, nil)
		s := open(t, a, 2)
		exchange(t, s, []byte("before"))
		peer, err := to(t, a, 2).Control()
		if err != nil {
			t.Fatal(err)
		}
		b.Close()
		n.node(2, nil)
		var end *EndError
		if _, err := s.Read(make([]byte, 1)); !errors.As(err, &end) || end.Why != resume.PeerRestarted {
			t.Errorf("the stream to a process that is gone: %v", err)
		}
		<-peer.Done()
		again := open(t, a, 2)
		exchange(t, again, []byte("after"))
		again.Close()
		synctest.Wait()
		want := "[control connection with node 2 has ended: peer restarted control]"
		if got := fmt.Sprint(told); got != want {
			t.Errorf("the user of node 1 heard %s, not %s", got, want)
		}
	})
}

func TestSession_NoPath_IsLostAfterPatienceAndSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, "pipe")
		down := make(chan error, 1)
		a := n.node(1, func(c *Config) { c.Down = func(_ uint32, why error) { down <- why } })
		n.node(2, nil)
		s := open(t, a, 2)
		exchange(t, s, []byte("x"))
		time.Sleep(time.Minute) // an idle connection may be silent
		n.cut(true)
		begun := time.Now()
		_, err := s.Read(make([]byte, 1))
		var end *EndError
		if !errors.As(err, &end) || end.Why != resume.NoPath || !errors.Is(err, errBlocked) {
			t.Errorf("the stream ended with %v", err)
		}
		if took := time.Since(begun); took != resume.DefaultPatience {
			t.Errorf("it ended after %v", took)
		}
		if why := <-down; !errors.Is(why, errBlocked) {
			t.Errorf("the user heard %v", why)
		}
		if d := n.dialed(); d < 25 || d > 80 {
			t.Errorf("%d attempts in a minute, with pauses of up to 2 s", d)
		}
	})
}

func TestSession_Keep_DialsThoughNothingIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, "pipe")
		downs := 0
		a := n.node(1, func(c *Config) {
			c.Keep = func(node uint32) bool { return node == 2 }
			c.Down = func(uint32, error) { downs++ }
		})
		n.node(2, nil)
		if _, err := to(t, a, 2).Control(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(3 * time.Second)
			if n := conns(t, a, 2); n != 1 {
				t.Fatalf("%d connections", n)
			}
			n.cut(false)
		}
		n.cut(true)
		time.Sleep(3 * time.Minute)
		n.cut(false)
		time.Sleep(time.Minute)
		if n := conns(t, a, 2); n != 1 || downs < 2 {
			t.Errorf("%d connections after %d sessions were lost", n, downs)
		}
	})
}

func TestSession_WithoutWork_DialsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, "pipe")
		a := n.node(1, nil)
		n.node(2, nil)
		if _, err := to(t, a, 2).Control(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if d := n.dialed(); d != 0 {
			t.Errorf("%d attempts to connect", d)
		}
	})
}

// What node 1 pushes and flushes is handled by node 2 before a stream's bytes, its beginning and its end are seen there.
func TestControl_ComesBeforeLaterStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, "pipe")
		a := n.node(1, nil)
		var handled atomic.Int64
		served := make(chan error, 100)
		n.node(2, func(c *Config) {
			c.Control = func(uint32, *wire.Peer) wire.Handler {
				return func(*wire.Message) {
					time.Sleep(time.Second) // slower than every stream
					handled.Add(1)
				}
			}
			c.Serve = func(_ uint32, s *Stream) {
				defer s.Close()
				if want := int64(s.Target()[0]); handled.Load() < want {
					served <- fmt.Errorf("the stream began after %d messages, not %d", handled.Load(), want)
					return
				}
				b := make([]byte, 1)
				for {
					_, err := s.Read(b)
					now := handled.Load()
					if errors.Is(err, io.EOF) {
						b[0]++ // the end was written one message later
					} else if err != nil {
						served <- err
						return
					}
					if now < int64(b[0]) {
						served <- fmt.Errorf("what was written after %d messages was seen after %d", b[0], now)
						return
					}
					if err != nil {
						served <- nil
						return
					}
				}
			}
		})
		k := to(t, a, 2)
		peer, err := k.Control()
		if err != nil {
			t.Fatal(err)
		}
		pushed := byte(0)
		push := func() {
			pushed++
			// So long that the reader of the control stream gets them one by one.
			if err := errors.Join(peer.Push(wire.TRunning, make([]byte, 40<<10)), peer.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			push()
			s, err := k.Open([]byte{pushed})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				push()
				if _, err := s.Write([]byte{pushed}); err != nil {
					t.Fatal(err)
				}
			}
			push()
			s.Close()
		}
		for range 5 {
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestControl_CallsInBothDirections(t *testing.T) {
	n := newNetwork(t, "tls")
	a, b := n.node(1, nil), n.node(2, nil)
	for range 3 {
		for l, node := range map[*Links]uint32{a: 2, b: 1} {
			peer, err := to(t, l, node).Control()
			if err != nil {
				t.Fatal(err)
			}
			body := make([]byte, 1<<20)
			body[77] = byte(node)
			var back []byte
			if err := peer.Call(t.Context(), wire.TRunning, body, &back); err != nil || len(back) != len(body) || back[77] != body[77] {
				t.Fatalf("%d bytes came back: %v", len(back), err)
			}
		}
		n.cut(false)
	}
}

// Bytes that are no message end the session at once, and the next one works.
func TestControl_NoMessage_EndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, "pipe")
		a := n.node(1, nil)
		down := make(chan error, 1)
		n.node(2, func(c *Config) { c.Down = func(_ uint32, why error) { down <- why } })
		s := open(t, a, 2)
		exchange(t, s, []byte("x"))
		peer, err := to(t, a, 2).Control()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Conn().Write([]byte{255, 255, 255, 255, 0}); err != nil {
			t.Fatal(err)
		}
		var end *EndError
		if why := <-down; !errors.As(why, &end) || end.Why != resume.Broken {
			t.Errorf("node 2 heard %v", why)
		}
		if _, err := s.Read(make([]byte, 1)); !errors.As(err, &end) || end.Why != resume.PeerRestarted {
			t.Errorf("node 1 heard %v", err)
		}
		again := open(t, a, 2)
		exchange(t, again, []byte("y"))
		again.Close()
	})
}

// Attempts fail every second or two. The log tells of the first one, and then once a minute.
func TestSession_NobodyAnswers_LogSaysSoOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, "pipe")
		var said syncedText
		l := n.node(1, func(c *Config) {
			c.Log = slog.New(slog.NewTextHandler(&said, nil))
			c.Keep = func(uint32) bool { return true }
		})
		n.node(2, nil)
		warnings := func() int { return strings.Count(said.text(), "level=WARN msg=\"no connection to another node") }
		s := open(t, l, 2)
		defer s.Close()
		exchange(t, s, []byte("x"))
		for outage := 1; outage <= 2; outage++ {
			n.cut(true)
			before := n.dialed()
			time.Sleep(20 * time.Second)
			if got := warnings(); got != 2*outage-1 || n.dialed() < before+5 {
				t.Errorf("outage %d: after %d attempts the log has %d warnings\n%s", outage, n.dialed()-before, got, said.text())
			}
			time.Sleep(70 * time.Second)
			if got := warnings(); got != 2*outage {
				t.Errorf("outage %d: after a minute the log has %d warnings\n%s", outage, got, said.text())
			}
			n.cut(false)
			time.Sleep(10 * time.Second)
		}
	})
}

// syncedText is a log that several goroutines write.
type syncedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncedText) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncedText) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestLinks_Redial_ConnectionsAreNewAndNothingIsLost(t *testing.T) {
	for _, kind := range []string{"plain", "tls"} {
		n := newNetwork(t, kind)
		a, _ := n.node(1, nil), n.node(2, nil)
		k := to(t, a, 2)
		s, err := k.Open([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		bulk, err := k.Bulk(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range byte(3) {
			if _, err := s.Write([]byte{i}); err != nil {
				t.Fatal(err)
			}
			before := connectionOf(k)
			a.Redial()
			var got [1]byte
			if _, err := io.ReadFull(s, got[:]); err != nil || got[0] != i {
				t.Fatalf("%s: %d is answered with %d, %v", kind, i, got[0], err)
			}
			if _, err := s.Write([]byte{9}); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(s, got[:]); err != nil || got[0] != 9 {
				t.Fatalf("%s: %d, %v", kind, got[0], err)
			}
			if i > 0 && before != nil && connectionOf(k) == before {
				t.Errorf("%s: the connection is the one before", kind)
			}
		}
		if _, err := bulk.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: the bulk connection goes on", kind)
		}
		s.Close()
	}
}

// connectionOf returns the connection that a link has now.
func connectionOf(k *Link) *conn {
	s, _ := k.current()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}
