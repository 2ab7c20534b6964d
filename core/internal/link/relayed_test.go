package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/internal/relay"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The head of a network with a relay. Ways to it are never cut.
const (
	headNumber  = 9
	headAddress = "the head"
)

func (n *network) dialHead() (net.Conn, error) {
	l := n.at(headNumber)
	x, y, err := n.make()
	if err == nil {
		go func() { _ = l.Accept(y) }()
	}
	return x, err
}

func (n *network) at(number uint32) *Links {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.nodes[number]
}

// head opens the links of a head that carries connections between the nodes.
func (n *network) head() *Links {
	var l *Links
	alive := func(node uint32) error {
		if n.at(node) == nil {
			return fmt.Errorf("node %d is not in this cluster", node)
		}
		return nil
	}
	r := relay.New(func(node uint32, target []byte) (net.Conn, error) {
		k, err := l.To(node)
		if err != nil {
			return nil, err
		}
		return k.Open(target)
	}, alive, slog.New(slog.DiscardHandler))
	l = n.node(headNumber, func(c *Config) {
		c.Serve = func(from uint32, s *Stream) { r.Serve(from, s, s.Target()) }
	})
	return l
}

// member opens the links of a node that may use the head's relay.
func (n *network) member(number uint32) *Links {
	var l *Links
	l = n.node(number, func(c *Config) {
		c.Keep = func(node uint32) bool { return node == headNumber }
		c.Down = func(node uint32, why error) {
			n.t.Errorf("node %d has lost its session with node %d: %v", number, node, why)
		}
		c.Resolve = func(node uint32) []string {
			if node == headNumber {
				return []string{headAddress}
			}
			return []string{"somewhere"}
		}
		c.Relay = func(ctx context.Context, node uint32, bulk bool) (net.Conn, error) {
			k, err := l.To(headNumber)
			if err != nil {
				return nil, err
			}
			s, err := k.Open(relay.Target(node, bulk))
			if err != nil {
				return nil, err
			}
			defer context.AfterFunc(ctx, func() { s.Close() })()
			if err := relay.Answer(s); err != nil {
				s.Close()
				return nil, err
			}
			return s, nil
		}
		c.Serve = func(from uint32, s *Stream) {
			if _, _, ok := relay.ParseTarget(s.Target()); ok && from == headNumber {
				_ = l.AcceptRelayed(s)
				return
			}
			echo(s)
		}
	})
	if _, err := to(n.t, l, headNumber).Control(); err != nil {
		n.t.Fatal(err)
	}
	return l
}

// isRelayed reports whether the head carries the session of a node with another one.
func isRelayed(l *Links, node uint32) bool {
	k, err := l.To(node)
	return err == nil && k.isRelayed()
}

// relayed runs a test with two nodes and a head, with TLS and without.
func relayed(t *testing.T, test func(t *testing.T, n *network, a, b *Links)) {
	for _, tls := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls %v", tls), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, "pipe")
				if tls {
					n.authority = newAuthority(t)
				}
				n.head()
				test(t, n, n.member(1), n.member(2))
			})
		})
	}
}

func TestRelayed_NoDirectPath_StreamsAndBulkGoThroughTheHeadAndBack(t *testing.T) {
	relayed(t, func(t *testing.T, n *network, a, b *Links) {
		s := open(t, a, 2)
		exchange(t, s, []byte("directly"))
		if isRelayed(a, 2) || isRelayed(b, 1) {
			t.Error("the session goes through the head, and there is a direct path")
		}
		n.cut(true)
		begun := time.Now()
		exchange(t, s, make([]byte, 4<<20))
		if took := time.Since(begun); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("the pause was %v, it must be some 5 s", took)
		}
		if !isRelayed(a, 2) || !isRelayed(b, 1) {
			t.Error("there is no direct path, and the session does not go through the head")
		}
		peer, err := to(t, b, 1).Control()
		if err != nil {
			t.Fatal(err)
		}
		if err := peer.Call(t.Context(), wire.TRunning, nil, nil); err != nil {
			t.Errorf("a call from the other end: %v", err)
		}
		c, err := to(t, a, 2).Bulk(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, c, make([]byte, 4<<20))
		c.Close()

		n.cut(false)
		time.Sleep(3 * time.Second)
		exchange(t, s, []byte("directly again"))
		if isRelayed(a, 2) || isRelayed(b, 1) {
			t.Error("there is a direct path again, and the session goes through the head")
		}
		s.Close()
	})
}

// The session changes its way again and again under data in both directions. Each byte arrives once and in order.
func TestRelayed_PathComesAndGoes_NothingIsLostOrDoubled(t *testing.T) {
	relayed(t, func(t *testing.T, n *network, a, b *Links) {
		s := open(t, a, 2)
		want := make([]byte, 7<<20)
		r := rand.NewChaCha8([32]byte{4})
		_, _ = r.Read(want)
		var both sync.WaitGroup
		both.Go(func() {
			for rest := want; len(rest) > 0; rest = rest[min(len(rest), 20_000):] {
				if _, err := s.Write(rest[:min(len(rest), 20_000)]); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
		both.Go(func() {
			got := make([]byte, len(want))
			if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes came back changed, or not: %v", len(want), err)
			}
			s.Close()
		})
		ways := map[bool]int{}
		for range 4 {
			time.Sleep(500 * time.Millisecond)
			n.cut(true)
			time.Sleep(5500 * time.Millisecond)
			ways[isRelayed(a, 2)]++
			n.cut(false)
			time.Sleep(2500 * time.Millisecond)
			ways[isRelayed(a, 2)]++
		}
		both.Wait()
		if ways[true] != 4 || ways[false] != 4 {
			t.Errorf("the session was seen %d times at the head and %d times on a direct path", ways[true], ways[false])
		}
	})
}

// A node behind the relay is who its certificate says, whatever the head says.
func TestRelayed_OtherNodeAnswers_IsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, "pipe")
		n.authority = newAuthority(t)
		n.put(2, n.node(3, nil))
		l := n.node(1, func(c *Config) {
			c.Relay = func(context.Context, uint32, bool) (net.Conn, error) {
				x, y := net.Pipe()
				go func() { _ = n.at(2).AcceptRelayed(y) }()
				return x, nil
			}
		})
		n.cut(true)
		s := open(t, l, 2)
		_, err := s.Read(make([]byte, 1))
		if !errors.Is(err, ErrStranger) || !strings.Contains(err.Error(), "node 3") {
			t.Errorf("the wrong node behind the relay: %v", err)
		}
	})
}
