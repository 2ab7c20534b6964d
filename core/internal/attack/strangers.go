package main

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/pki"
)

// garbage sends what is no protocol of the cluster, or nearly one.
func (a *attacker) garbage() error {
	hello := clientHello(pki.JoinProtocol)
	member := clientHello(link.Protocol)
	pickle := a.bomb(0)
	kinds := map[string]func(*rand.Rand) []byte{
		"random bytes": func(c *rand.Rand) []byte { return random(c, c.IntN(20_000)) },
		"http":         func(*rand.Rand) []byte { return []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n") },
		"http pickle": func(*rand.Rand) []byte {
			return fmt.Appendf(nil, "POST /api/jobs/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(pickle), pickle)
		},
		"pickle":             func(*rand.Rand) []byte { return pickle },
		"ssh":                func(*rand.Rand) []byte { return []byte("SSH-2.0-OpenSSH_9.0\r\n") },
		"changed TLS hello":  func(c *rand.Rand) []byte { return mutated(hello, c) },
		"changed TLS member": func(c *rand.Rand) []byte { return mutated(member, c) },
		"plain join":         func(c *rand.Rand) []byte { return append(plain(pki.JoinProtocol), random(c, c.IntN(200))...) },
		"plain link":         func(c *rand.Rand) []byte { return append(plain(link.Protocol), random(c, c.IntN(200))...) },
	}
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	return a.each(a.ports, func(p port, chance *rand.Rand) (bool, error) {
		name := names[chance.IntN(len(names))]
		_, err := a.shot(name, p, kinds[name](chance))
		return time.Now().Before(a.end), err
	})
}

// oversized announces much and sends little, or sends more than a stranger may.
func (a *attacker) oversized() error {
	length := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	inJoin := map[string][]byte{
		"a frame of 4 GB":             append(length(0xffff_ffff), 1, 2, 3),
		"a frame above its cap":       append(length(pki.MaxFrame+1), make([]byte, pki.MaxFrame+1)...),
		"a frame that does not come":  length(pki.MaxFrame),
		"more than a stranger's":      append(length(pki.MaxFrame), make([]byte, 64<<10)...),
		"many frames without content": make([]byte, 32<<10),
	}
	onPort := map[string][]byte{
		"a TLS record of 64 KiB": append([]byte{22, 3, 1, 0xff, 0xff}, make([]byte, 70_000)...),
		"a TLS hello of 16 MiB":  append([]byte{22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff}, make([]byte, 16<<10)...),
		"an HTTP header of 1 MB": []byte("GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"),
		"many HTTP headers":      []byte("GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-A: b\r\n", 20_000) + "\r\n"),
		"an HTTP body of 1 TB":   []byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1099511627776\r\n\r\n" + strings.Repeat("x", 1<<20)),
		"an HTTP chunk of 1 TB":  []byte("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10000000000\r\n" + strings.Repeat("x", 1<<20)),
	}
	for time.Now().Before(a.end) {
		for _, p := range a.ports {
			for name, payload := range onPort {
				if _, err := a.shot(name, p, payload); err != nil {
					return err
				}
			}
			if p.kind != "head" {
				continue
			}
			for name, payload := range inJoin {
				c, err := joinTLS(p)
				if errors.Is(err, errTurnedAway) {
					a.count("turned away", 1)
					continue
				}
				if err != nil {
					return err
				}
				_, _ = c.Write(payload)
				_ = c.CloseWrite()
				a.count(name, 1)
				if answer := a.closes(name, p, c); len(answer) > 0 {
					a.breach("%s: the %s port answers with %d bytes", name, p.kind, len(answer))
				}
				c.Close()
			}
		}
	}
	return nil
}

// slowloris opens many connections at once, of which half say nothing and half say a little again and again. All must be closed in time,
// and somebody with the token must get in meanwhile.
func (a *attacker) slowloris() error {
	hello := clientHello(pki.JoinProtocol)
	begun := time.Now()
	var all sync.WaitGroup
	for _, p := range a.ports {
		for i := range a.lines {
			c, err := dial(p)
			if err != nil {
				return err
			}
			first := hello
			if p.kind == "http" {
				first = []byte("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: " + strings.Repeat("x", 4096))
			}
			all.Go(func() { a.slow(p, c, first, i%2 == 0, time.Now()) })
		}
	}
	if len(a.heads()) > 0 && a.token.From() != "" {
		if _, err := a.joined(); err != nil {
			a.breach("slowloris: nobody can join meanwhile: %v", err)
		}
		a.count("join meanwhile, in ms", int(time.Since(begun).Milliseconds()))
	}
	all.Wait()
	a.count("until all are closed, in ms", int(time.Since(begun).Milliseconds()))
	return nil
}

// slow holds one connection until the other side closes it.
func (a *attacker) slow(p port, c net.Conn, first []byte, silent bool, begun time.Time) {
	defer c.Close()
	a.count("slow connections", 1)
	limit := patience + time.Duration(a.lines)*time.Second/32 // 64 at a time, and each gets its second
	closed := make(chan struct{})
	if !silent {
		var trickling sync.WaitGroup
		defer trickling.Wait()
		trickling.Go(func() {
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-closed:
					return
				case <-tick.C:
					_, _ = c.Write(first[i%len(first) : i%len(first)+1])
				}
			}
		})
	}
	defer close(closed)
	_ = c.SetReadDeadline(begun.Add(limit))
	_, err := io.Copy(io.Discard, io.LimitReader(c, mostReply))
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		a.breach("slowloris: the %s port keeps a connection for more than %v", p.kind, limit)
	}
}

// downgrade asks for less than what the cluster speaks.
func (a *attacker) downgrade() error {
	type ask struct {
		name      string
		newest    uint16
		protocols []string
	}
	asks := []ask{
		{"TLS 1.0", tls.VersionTLS10, []string{pki.JoinProtocol}},
		{"TLS 1.1", tls.VersionTLS11, []string{pki.JoinProtocol}},
		{"TLS 1.2", tls.VersionTLS12, []string{pki.JoinProtocol}},
		{"TLS 1.2 of a member", tls.VersionTLS12, []string{link.Protocol}},
		{"no protocol", tls.VersionTLS13, nil},
		{"HTTP/2", tls.VersionTLS13, []string{"h2", "http/1.1"}},
		{"join and link at once", tls.VersionTLS13, []string{pki.JoinProtocol, link.Protocol}},
		{"link without a certificate", tls.VersionTLS13, []string{link.Protocol}},
	}
	for time.Now().Before(a.end) {
		for _, p := range a.linked() {
			for _, ask := range asks {
				nc, err := dial(p)
				if err != nil {
					return err
				}
				c := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: ask.newest, NextProtos: ask.protocols})
				_ = c.SetDeadline(time.Now().Add(patience))
				a.count(ask.name, 1)
				if c.Handshake() == nil { // with TLS 1.3 the other side may refuse a moment later
					if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
						a.breach("%s: the %s port answers", ask.name, p.kind)
					}
				}
				c.Close()
			}
			for _, protocol := range []string{pki.JoinProtocol, link.Protocol} {
				answer, err := a.shot("plain "+protocol, p, append(plain(protocol), rawHello()...))
				if err != nil {
					return err
				}
				if len(answer) > 0 && answer[0] != 21 { // an alert of TLS is none
					a.breach("without TLS: the %s port answers %q", p.kind, answer)
				}
			}
		}
	}
	return nil
}
