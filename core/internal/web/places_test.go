package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// comers is a listener to which connections come from any address.
type comers struct {
	net.Listener
	next net.Conn
}

func (c *comers) Accept() (net.Conn, error) {
	if c.next == nil {
		return nil, io.EOF
	}
	next := c.next
	c.next = nil
	return next, nil
}

// comer is a connection from an address.
type comer struct {
	net.Conn
	from   string
	closed bool
}

func (c *comer) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.from + ":1"))
}
func (c *comer) Close() error { c.closed = true; return nil }

// come brings a connection. What the listener gives for it is nil if it was closed.
func come(t *testing.T, b *bounded, from string) (*comer, *placed) {
	t.Helper()
	c := &comer{from: from}
	b.Listener.(*comers).next = c
	p, err := b.Accept()
	if errors.Is(err, io.EOF) {
		return c, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, p.(*placed)
}

func TestConnections_PlacesAreTaken_OldestOfTheAddressThatHasMostGivesWay(t *testing.T) {
	b := newBounded(&comers{})
	first, _ := come(t, b, "10.0.0.2")
	var many []*comer
	for range maxConns - 1 {
		c, _ := come(t, b, "10.0.0.1")
		many = append(many, c)
	}
	for i := range 3 { // of its own, and of others
		c, p := come(t, b, fmt.Sprintf("10.0.0.%d", 1+i))
		if p == nil || c.closed || !many[i].closed || many[i+1].closed || first.closed || len(b.taken) != maxConns {
			t.Fatalf("connection %d more: closed %v, the oldest %v, the next %v, that of another address %v, %d places", i, c.closed, many[i].closed, many[i+1].closed, first.closed, len(b.taken))
		}
	}
}

func TestConnections_TokenWasShown_KeepsItsPlace(t *testing.T) {
	b := newBounded(&comers{})
	var known []*placed
	for range maxConns - 1 {
		c, p := come(t, b, "10.0.0.1")
		b.prove(p)
		if known = append(known, p); c.closed {
			t.Fatal("closed")
		}
	}
	for range 3 { // one place is left, for the newest
		if c, p := come(t, b, "10.0.0.2"); p == nil || c.closed {
			t.Fatal("the newest has no place")
		}
	}
	b.prove(b.taken[maxConns-1])
	if c, p := come(t, b, "10.0.0.3"); p != nil || !c.closed {
		t.Error("all have shown a token, and one more is let in")
	}
	if err := known[0].Close(); err != nil {
		t.Fatal(err)
	}
	if _, p := come(t, b, "10.0.0.3"); p == nil {
		t.Error("a place is free, and nobody is let in")
	}
}

// As many idle connections as there are places keep no probe out, also of their own address, and a probe keeps no connection.
func TestConnections_OthersAreIdle_ProbesAreAnswered(t *testing.T) {
	s := serve(t)
	for range maxConns {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for range 3 {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprint(c, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
		r := bufio.NewReader(c)
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != 200 || !answer.Close {
			t.Errorf("%d, closes %v, %v", answer.StatusCode, answer.Close, err)
		}
		if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("the connection goes on: %v", err)
		}
	}
}

// Who has shown the token keeps the connection and its place.
func TestConnections_WithTheToken_AreKept(t *testing.T) {
	token := pki.NewToken("x")
	s := serve(t, token)
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	ask := func() {
		t.Helper()
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", token.Text())
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != 200 || answer.Close {
			t.Fatalf("%d, closes %v, %v", answer.StatusCode, answer.Close, err)
		}
	}
	ask()
	for range maxConns + 5 {
		idle, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		defer idle.Close()
	}
	if status, _, _ := s.ask(t, "GET", "/health", ""); status != 200 { // all before it were accepted
		t.Errorf("%d", status)
	}
	ask()
}
