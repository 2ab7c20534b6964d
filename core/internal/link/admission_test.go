package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
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

// whys is a log that keeps the reasons of refusals.
type whys struct {
	slog.Handler
	all chan string
}

func (w whys) Enabled(context.Context, slog.Level) bool { return true }

func (w whys) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "why" {
			w.all <- fmt.Sprint(a.Value)
		}
		return true
	})
	return nil
}

// A member that must not connect is told why, and until then it is one of the strangers: others get its place.
func TestListen_MemberThatMustNotConnect_IsToldAndHasAStrangersBounds(t *testing.T) {
	elsewhere := identity(2)
	elsewhere.Role = pki.RoleHead
	elsewhere.Generation = 0
	for name, x := range map[string]struct {
		change func(*Config)
		self   pki.Identity
		says   string
	}{
		"revoked":    {func(c *Config) { c.Admit = func(pki.Identity) error { return errors.New("node 2 was revoked") } }, identity(2), "was revoked"},
		"role":       {func(c *Config) { c.Fits = func(pki.Identity) error { return errors.New("no such role") } }, identity(2), "no such role"},
		"generation": {func(*Config) {}, elsewhere, "of generation 0"},
	} {
		log := whys{slog.DiscardHandler, make(chan string, 10_000)}
		address, a := listening(t, func(c *Config) { c.Log = slog.New(log); x.change(c) })
		config := keys(t, a, x.self)(Protocol)
		if status, text, err := bulkFrom(t, "127.0.0.1", address, config); err != nil || status != refused || !strings.Contains(text, x.says) {
			t.Errorf("%s: %d %q %v", name, status, text, err)
		}
		if why := arrives(t, log.all, "the reason"); !strings.Contains(why, x.says) {
			t.Errorf("%s: the log says %q", name, why)
		}
		// It says nothing, and connections of its address want its place.
		evicted := false
		for begun := time.Now(); !evicted && time.Since(begun) < soon; { // again if the machine was so slow that its time was over first
			silent := tls.Client(dialFrom(t, "127.0.0.1", address), config)
			_ = silent.SetDeadline(time.Now().Add(soon))
			if err := silent.HandshakeContext(t.Context()); err != nil {
				continue // its address has failed too often for the moment
			}
			for range 70 {
				dialFrom(t, "127.0.0.1", address)
			}
			_, _ = io.Copy(io.Discard, silent)
			for why := ""; !strings.HasPrefix(why, string(x.self.Role)+" 2: "); {
				why = arrives(t, log.all, "why the connection has ended")
				evicted = strings.Contains(why, net.ErrClosed.Error())
			}
		}
		if !evicted {
			t.Errorf("%s: it keeps its connection", name)
		}
	}
}
