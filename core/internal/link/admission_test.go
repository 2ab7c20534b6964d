package link

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// listening is a node 1 with TLS that listens, and the authority of its cluster.
func listening(t *testing.T, change func(*Config)) (address string, a *pki.Authority) {
	t.Helper()
	a = newAuthority(t)
	c := Config{
		Self: identity(1), TLS: keys(t, a, identity(1)),
		Resolve: func(uint32) []string { return nil },
		Serve:   func(_ uint32, s *Stream) { echo(s) },
		Bulk:    func(_ uint32, c net.Conn) { echo(c) },
		Control: func(uint32, *wire.Peer) wire.Handler { return func(*wire.Message) {} },
		Down:    func(uint32, error) {},
		Log:     slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&c)
	}
	l, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	from, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen(l, from)
	t.Cleanup(l.Close)
	return from.Addr().String(), a
}

// dialFrom connects from an address of this machine.
func dialFrom(t *testing.T, host, address string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}, Timeout: beginTime}
	c, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// bulkFrom makes a bulk connection of a member, and says how it was answered.
func bulkFrom(t *testing.T, host, address string, config *tls.Config) (byte, string, error) {
	t.Helper()
	c := tls.Client(dialFrom(t, host, address), config)
	ctx, cancel := context.WithTimeout(t.Context(), beginTime)
	defer cancel()
	_ = c.SetDeadline(time.Now().Add(beginTime))
	if err := c.HandshakeContext(ctx); err != nil {
		return 0, "", err
	}
	if _, err := c.Write(greeting{kind: forBulk, to: 1}.encode()); err != nil {
		return 0, "", err
	}
	status, text, err := readReply(c)
	return status, string(text), err
}

// Many more connections than there are places come from one address and say nothing.
func TestListen_OneAddressIsSilent_MemberOfAnotherGetsIn(t *testing.T) {
	address, a := listening(t, nil)
	const silent = 600 // one after the other for a second at 64 places: over 9 s
	closed := make(chan bool, silent)
	for range silent {
		c := dialFrom(t, "127.0.0.1", address)
		go func() { _, _ = io.Copy(io.Discard, c); closed <- true }()
	}
	for range 3 {
		if status, text, err := bulkFrom(t, "127.0.0.2", address, keys(t, a, identity(2))(Protocol)); err != nil || status != accepted {
			t.Errorf("a member of another address: %d %q %v", status, text, err)
		}
	}
	for range silent {
		arrives(t, closed, "the end of a silent connection")
	}
}
