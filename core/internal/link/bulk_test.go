package link

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
)

func TestBulk_AtMostFour_TheNextOneWaits(t *testing.T) {
	for _, kind := range []string{"plain", "tls", "unix"} {
		n := newNetwork(t, kind)
		a, b := n.node(1, nil), n.node(2, nil)
		k := to(t, a, 2)
		var all []io.Closer
		for range BulkConns {
			c, err := k.Bulk(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			exchange(t, c, make([]byte, 1<<20))
			all = append(all, c)
		}
		other, err := to(t, b, 1).Bulk(t.Context()) // those of the other direction are not counted
		if err != nil {
			t.Fatal(err)
		}
		other.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := k.Bulk(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one connection more than %d: %v", BulkConns, err)
		}
		cancel()
		next := make(chan error, 1)
		go func() {
			c, err := k.Bulk(t.Context())
			if err == nil {
				err = c.Close()
			}
			next <- err
		}()
		all[0].Close()
		all[0].Close() // gives its place back once
		if err := arrives(t, next, "the next bulk connection"); err != nil {
			t.Error(err)
		}
		for _, c := range all {
			c.Close()
		}
		if len(k.places) != 0 || len(k.bulkConns()) != 0 {
			t.Errorf("%d places are taken, and %d connections are known", len(k.places), len(k.bulkConns()))
		}
		a.Close()
		b.Close()
		if g := known(b, 1); len(g.guests) != 0 || len(g.bulkConns()) != 0 {
			t.Errorf("the other node: %d places are taken, and %d connections are known", len(g.guests), len(g.bulkConns()))
		}
	}
}

// known is To after Close.
func known(l *Links, node uint32) *Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodes[node]
}

// A node that dials more than it may is held back by the other one, too.
func TestBulk_PeerDialsMore_IsRefused(t *testing.T) {
	n := newNetwork(t, "plain")
	a := n.node(1, nil)
	b := n.node(2, nil)
	k := to(t, a, 2)
	k.places = make(chan struct{}, 2*(BulkConns+ValueConns))
	for range BulkConns + ValueConns {
		if _, err := k.Bulk(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	if _, err := k.Bulk(t.Context()); err == nil {
		t.Errorf("one more was served after %v", time.Since(begun))
	}
	if g := known(b, 1); len(g.guests) != BulkConns+ValueConns {
		t.Errorf("%d connections are served", len(g.guests))
	}
}

// Packages on their way do not keep large values waiting.
func TestValues_AllBulkConnectionsAreInUse_HasPlacesOfItsOwn(t *testing.T) {
	n := newNetwork(t, "plain")
	a, _ := n.node(1, nil), n.node(2, nil)
	k := to(t, a, 2)
	for range BulkConns {
		if _, err := k.Bulk(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range ValueConns {
		c, err := k.Values(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, c, make([]byte, 1<<20))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := k.Values(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one connection more than %d: %v", ValueConns, err)
	}
}

// A lost session takes its bulk connections along: the process that had them is gone.
func TestBulk_PeerRestarts_Ends(t *testing.T) {
	n := newNetwork(t, "tls")
	a, b := n.node(1, nil), n.node(2, nil)
	s := open(t, a, 2)
	defer s.Close()
	exchange(t, s, []byte("x"))
	c, err := to(t, a, 2).Bulk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	n.node(2, nil)
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a bulk connection to a process that is gone can be read")
	}
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, ErrEnded) {
		t.Errorf("the stream ended with %v", err)
	}
	for end := time.Now().Add(soon); len(to(t, a, 2).bulkConns()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the bulk connection is still known")
		}
	}
}

// Only a head reaches what heads replicate, and only at a head.
func TestRaft_OnlyHeadsReachHeads(t *testing.T) {
	head := func(c *Config) {
		c.Self.Role = pki.RoleHead
		c.Raft = func(_ uint32, c net.Conn) { echo(c) }
	}
	for _, kind := range []string{"plain", "tls"} {
		for _, x := range []struct {
			name     string
			from, at func(*Config)
			served   bool
		}{{"head to head", head, head, true}, {"node to head", nil, head, false}, {"head to node", head, nil, false}} {
			n := newNetwork(t, kind)
			a := n.node(1, x.from)
			n.node(2, x.at)
			c, err := to(t, a, 2).Raft(t.Context())
			if (err == nil) != x.served || err != nil && !errors.Is(err, ErrRefused) {
				t.Fatalf("%s, %s: %v", kind, x.name, err)
			}
			if err == nil {
				exchange(t, c, make([]byte, 1<<20))
				c.Close()
			}
		}
	}
}
