package link

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

// passed collects what a stream gives to the function and what Read returns. It has no lock: the stream lets only one of the two go on.
type passed struct {
	bytes.Buffer
	die   *rand.Rand
	calls int
}

// take takes some of the bytes.
func (p *passed) take(b []byte) int {
	p.calls++
	n := len(b)
	if p.die.IntN(3) == 0 {
		n = p.die.IntN(len(b) + 1)
	}
	p.Write(b[:n])
	return n
}

// collects reads until the end of a stream.
func (p *passed) collects(s *Stream) error {
	s.PassTo(p.take)
	b := make([]byte, 700)
	for {
		n, err := s.Read(b)
		p.Write(b[:n])
		if err != nil {
			return err
		}
	}
}

// The connection is cut again and again. What the function takes and what Read returns is the stream, in order.
func TestPassTo_ConnectionsBreak_EachByteComesOnce(t *testing.T) {
	const cuts = 60
	n := newNetwork(t, "tls")
	got := make(chan *passed, 1)
	small := func(c *Config) { c.Session.Window = 8 << 10 } // so that it is often full
	a := n.node(1, small)
	n.node(2, func(c *Config) {
		small(c)
		c.Serve = func(_ uint32, s *Stream) {
			if string(s.Target()) != "target" {
				echo(s)
				return
			}
			p := &passed{die: rand.New(rand.NewPCG(5, 6))}
			if err := p.collects(s); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			s.Close()
			got <- p
		}
	})
	s := open(t, a, 2)
	die, pattern, want := rand.New(rand.NewPCG(7, 8)), newPattern(1), []byte(nil)
	for range cuts {
		for range 40 {
			part := make([]byte, 1+die.IntN(3<<10))
			pattern.fill(part)
			if _, err := s.Write(part); err != nil {
				t.Fatal(err)
			}
			want = append(want, part...)
		}
		n.cut(false)
		marker, err := to(t, a, 2).Open([]byte("marker")) // it needs a connection
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, marker, []byte("it is there"))
		marker.Close()
	}
	s.Close()
	p := arrives(t, got, "the end")
	if !bytes.Equal(p.Bytes(), want) {
		t.Errorf("%d bytes were written, and %d others came", len(want), p.Len())
	}
	if p.calls == 0 {
		t.Error("the function was never called")
	}
}

// One message at a time comes by way of the function: no reader has to be woken.
func TestPassTo_ReaderWaits_FunctionGetsAll(t *testing.T) {
	for _, kind := range []string{"plain", "tls", "unix"} {
		t.Run(kind, func(t *testing.T) {
			n := newNetwork(t, kind)
			a := n.node(1, nil)
			came, ended := make(chan []byte, 1), make(chan error, 1)
			n.node(2, func(c *Config) {
				c.Serve = func(_ uint32, s *Stream) {
					s.PassTo(func(b []byte) int { came <- bytes.Clone(b); return len(b) })
					k, err := s.Read(make([]byte, 10))
					if k > 0 {
						t.Errorf("Read returned %d bytes", k)
					}
					ended <- err
				}
			})
			s := open(t, a, 2)
			for x := to(t, n.at(2), 1); !someoneReads(x); {
				time.Sleep(time.Millisecond) // until the Read waits
			}
			for _, text := range []string{"one", "two", "three"} {
				if _, err := s.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				if b := arrives(t, came, text); string(b) != text {
					t.Errorf("%q came, not %q", b, text)
				}
			}
			s.Close()
			if err := arrives(t, ended, "the end"); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		})
	}
}

// someoneReads reports whether somebody waits in Read of a stream with a function.
func someoneReads(k *Link) bool {
	s, err := k.session()
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.streams {
		if x.pass.to != nil && x.pass.waiting {
			return true
		}
	}
	return false
}
