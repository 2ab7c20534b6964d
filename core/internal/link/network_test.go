package link

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// soon is how long a test waits for what must happen.
const soon = 30 * time.Second

// network connects the nodes of a test. It makes the connections itself, so that a test can cut them.
type network struct {
	t         testing.TB
	make      func() (net.Conn, net.Conn, error)
	authority *pki.Authority // nil: without TLS

	mu      sync.Mutex
	nodes   map[uint32]*Links
	wires   []net.Conn
	dials   int
	blocked bool
}

// tcpPair returns connections of which a cut closes what a session has taken.
func tcpPair() (net.Conn, net.Conn, error) {
	x, y, err := pair("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	return withSocket(x), withSocket(y), nil
}

func pipePair() (net.Conn, net.Conn, error) { x, y := net.Pipe(); return x, y, nil }

func pair(network, address string) (x, y net.Conn, err error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if x, err = net.Dial(network, l.Addr().String()); err != nil {
		return nil, nil, err
	}
	y, err = l.Accept()
	return x, y, err
}

func newNetwork(t testing.TB, kind string) *network {
	n := &network{t: t, nodes: map[uint32]*Links{}}
	switch kind {
	case "pipe":
		n.make = pipePair
	case "plain":
		n.make = tcpPair
	case "tls":
		n.make = tcpPair
		n.authority = newAuthority(t)
	case "unix":
		n.authority = newAuthority(t)
		path := filepath.Join(t.TempDir(), "s")
		n.make = func() (net.Conn, net.Conn, error) { return pair("unix", path) }
	}
	return n
}

func newAuthority(t testing.TB) *pki.Authority {
	a, err := pki.NewAuthority(pki.Cluster{1}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// keys returns keys with a certificate.
func keys(t testing.TB, a *pki.Authority, id pki.Identity) func(...string) *tls.Config {
	k, err := pki.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	csr, err := k.Request()
	if err != nil {
		t.Fatal(err)
	}
	if id.Cluster != (pki.Cluster{1}) {
		if a, err = pki.NewAuthority(id.Cluster, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := a.Sign(csr, id, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Install(cert, [][]byte{a.Certificate()}); err != nil {
		t.Fatal(err)
	}
	return k.TLS
}

func identity(number uint32) pki.Identity {
	return pki.Identity{Cluster: pki.Cluster{1}, Generation: 1, Role: pki.RoleNode, Number: number}
}

var theToken = sync.OnceValue(func() pki.Token { return pki.NewToken("the test") })

// node opens the links of a node. Streams and bulk connections are echoed, unless change says otherwise.
func (n *network) node(number uint32, change func(*Config)) *Links {
	c := Config{
		Self:    identity(number),
		Tokens:  func() []pki.Token { return []pki.Token{theToken()} },
		Resolve: func(uint32) []string { return []string{"somewhere"} },
		Serve:   func(_ uint32, s *Stream) { echo(s) },
		Bulk:    func(_ uint32, c net.Conn) { echo(c) },
		Control: func(uint32, *wire.Peer) wire.Handler { return func(m *wire.Message) { _ = m.Reply(m.Body) } },
		Down:    func(uint32, error) {},
		Log:     slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&c)
	}
	if n.authority != nil && c.TLS == nil {
		c.TLS = keys(n.t, n.authority, c.Self)
	}
	other := 3 - number // the tests have two nodes
	c.dial = func(_ context.Context, _, address string) (net.Conn, error) {
		if address == headAddress {
			return n.dialHead()
		}
		return n.dial(other)
	}
	l, err := Open(c)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(l.Close)
	n.put(number, l)
	return l
}

func (n *network) put(number uint32, l *Links) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[number] = l
}

var errBlocked = errors.New("the network is cut")

func (n *network) dial(to uint32) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials++
	l := n.nodes[to]
	if n.blocked || l == nil {
		return nil, errBlocked
	}
	x, y, err := n.make()
	if err != nil {
		return nil, err
	}
	n.wires = append(n.wires, x, y)
	go func() { _ = l.Accept(y) }()
	return x, nil
}

// cut ends all connections. While blocked, there are no new ones.
func (n *network) cut(blocked bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocked = blocked
	for _, c := range n.wires {
		c.Close()
	}
	n.wires = nil
}

func (n *network) dialed() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials
}

func echo(c net.Conn) {
	defer c.Close()
	_, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
}

func to(t testing.TB, l *Links, node uint32) *Link {
	t.Helper()
	k, err := l.To(node)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func open(t testing.TB, l *Links, node uint32) *Stream {
	t.Helper()
	s, err := to(t, l, node).Open([]byte("target"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// exchange writes bytes to an echo and reads them back.
func exchange(t testing.TB, c net.Conn, b []byte) {
	t.Helper()
	done := make(chan error, 1)
	go func() { _, err := c.Write(b); done <- err }()
	got := make([]byte, len(b))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, b) {
		t.Fatalf("%d bytes came back changed, or not: %v", len(b), err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// arrives returns what comes on a channel.
func arrives[T any](t testing.TB, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(soon):
		t.Fatalf("%s did not come", what)
	}
	return v
}
