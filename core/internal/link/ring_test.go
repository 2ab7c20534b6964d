package link

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// A ring returns what was put into it, whatever its head and its size are.
func TestRing_RandomPutsAndTakes_AreAQueue(t *testing.T) {
	const window = 5 * smallRing
	for seed := range uint64(200) {
		die := rand.New(rand.NewPCG(seed, 7))
		var spare sync.Pool
		var r ring
		var want []byte
		next := byte(0)
		for range 300 {
			if n := die.IntN(window - r.n + 1); n > 0 && die.IntN(2) == 0 {
				n = 1 + die.IntN(n)
				b := make([]byte, n)
				for i := range b {
					next++
					b[i] = next
				}
				r.put(b, window, &spare)
				want = append(want, b...)
			} else if r.n > 0 {
				b := make([]byte, 1+die.IntN(r.n))
				r.take(b, &spare)
				if !bytes.Equal(b, want[:len(b)]) {
					t.Fatalf("seed %d: other bytes came out", seed)
				}
				want = want[len(b):]
			}
			if r.n != len(want) || len(r.buf) > window || r.n == 0 && len(r.buf) > smallRing {
				t.Fatalf("seed %d: %d bytes in a buffer of %d, and %d were expected", seed, r.n, len(r.buf), len(want))
			}
		}
	}
}

// Whatever bytes come as a greeting: it is read with its caps, and what is accepted is encoded as it came.
func FuzzGreeting(f *testing.F) {
	f.Add(greeting{forLink, 7, make([]byte, 56)}.encode())
	f.Add(greeting{forBulk, 7, nil}.encode())
	f.Add(append([]byte("ERL\x01\x01\x00\x00\x00\x00"), 0xff, 0xff))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		if g, err := readGreeting(r); err == nil {
			if len(g.body) > maxText || !bytes.Equal(g.encode(), b[:len(b)-r.Len()]) {
				t.Errorf("%q was read as %+v", b, g)
			}
		}
		if _, body, err := readReply(bytes.NewReader(b)); err == nil && len(body) > maxText {
			t.Errorf("an answer of %d bytes", len(body))
		}
	})
}

func TestGreeting_Wrong_IsRefused(t *testing.T) {
	good := greeting{forLink, 7, []byte("hello")}.encode()
	for name, b := range map[string][]byte{
		"empty":   {},
		"early":   good[:len(good)-1],
		"magic":   append([]byte("GET"), good[3:]...),
		"version": append([]byte("ERL\x02"), good[4:]...),
		"length":  append(append([]byte{}, good[:9]...), 1, 4),
	} {
		if g, err := readGreeting(bytes.NewReader(b)); err == nil {
			t.Errorf("%s: read as %+v", name, g)
		}
	}
	if g, err := readGreeting(bytes.NewReader(good)); err != nil || g.to != 7 || string(g.body) != "hello" {
		t.Errorf("%+v, %v", g, err)
	}
}

// Whoever sends anything else than a greeting is closed, and costs nothing afterwards.
func TestAccept_Garbage_IsClosed(t *testing.T) {
	for _, kind := range []string{"plain", "tls", "unix"} {
		n := newNetwork(t, kind)
		b := n.node(2, nil)
		for _, what := range [][]byte{{}, {0}, {255}, []byte("GET / HTTP/1.1\r\n\r\n"), bytes.Repeat([]byte{0x10}, 20<<10)} {
			x, y, err := n.make()
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- b.Accept(y) }()
			go func() {
				_, _ = x.Write(what)
				if c, ok := x.(interface{ CloseWrite() error }); ok {
					_ = c.CloseWrite()
				}
			}()
			if err := arrives(t, done, "the end of Accept"); err == nil {
				t.Errorf("%s: %.20q was accepted", kind, what)
			}
			_ = x.SetReadDeadline(time.Now().Add(soon))
			if _, err := io.Copy(io.Discard, x); errors.Is(err, net.ErrClosed) || isTimeout(err) {
				t.Errorf("%s: it is not closed: %v", kind, err)
			}
			x.Close()
		}
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}
