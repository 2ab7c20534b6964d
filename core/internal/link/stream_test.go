package link

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/internal/resume"
)

func TestStream_EachTransport_CarriesBytesAndItsEnd(t *testing.T) {
	for _, kind := range []string{"plain", "tls", "unix"} {
		t.Run(kind, func(t *testing.T) {
			n := newNetwork(t, kind)
			a := n.node(1, nil)
			n.node(2, func(c *Config) {
				c.Serve = func(from uint32, s *Stream) {
					if from != 1 || string(s.Target()) != "target" || s.RemoteAddr().String() != "node 1" || s.LocalAddr().String() != "node 2" {
						t.Errorf("a stream of node %d to %q, from %v to %v", from, s.Target(), s.RemoteAddr(), s.LocalAddr())
					}
					_, _ = io.Copy(struct{ io.Writer }{s}, io.LimitReader(s, 3<<20))
					_ = s.CloseWith(resume.ProcessDied)
				}
			})
			s := open(t, a, 2)
			defer s.Close()
			for _, size := range []int{1, 100, 70 << 10, 3<<20 - 101 - 70<<10} {
				exchange(t, s, bytes.Repeat([]byte{byte(size), 7, 9}, size/3+1)[:size])
			}
			_, err := s.Read(make([]byte, 1))
			var end *EndError
			if !errors.As(err, &end) || end.Why != resume.ProcessDied || !errors.Is(err, ErrEnded) || s.Ended() != resume.ProcessDied {
				t.Errorf("the end was read as %v, %v", err, s.Ended())
			}
			if _, err := s.Write([]byte{1}); !errors.Is(err, ErrEnded) {
				t.Errorf("write after the end: %v", err)
			}
		})
	}
}

// What is written before Close arrives, and then the end of the file.
func TestStream_Closed_WhatWasWrittenArrivesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, "pipe")
		a := n.node(1, nil)
		type result struct {
			n   int
			err error
		}
		got := make(chan result, 1)
		n.node(2, func(c *Config) {
			c.Serve = func(_ uint32, s *Stream) {
				b, err := io.ReadAll(s)
				got <- result{len(b), err}
				s.Close()
			}
		})
		s := open(t, a, 2)
		if _, err := s.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if r := <-got; r.n != 1<<20 || r.err != nil {
			t.Errorf("%d bytes and %v arrived", r.n, r.err)
		}
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read of a closed stream: %v", err)
		}
		if _, err := s.Write([]byte{1}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write to a closed stream: %v", err)
		}
	})
}

func TestStream_Deadlines_EndReadsAndWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, "pipe")
		a := n.node(1, nil)
		stop := make(chan struct{})
		defer close(stop)
		n.node(2, func(c *Config) {
			c.Serve = func(_ uint32, s *Stream) { <-stop; s.Close() } // reads nothing
		})
		s := open(t, a, 2)
		defer s.Close()
		begun := time.Now()
		_ = s.SetReadDeadline(begun.Add(time.Minute))
		_ = s.SetReadDeadline(begun.Add(3 * time.Second)) // the earlier one counts, and the first timer is gone
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 3*time.Second {
			t.Errorf("read: %v after %v", err, time.Since(begun))
		}
		_ = s.SetWriteDeadline(time.Now().Add(2 * time.Second))
		wrote, err := s.Write(make([]byte, 1<<20))
		if !errors.Is(err, os.ErrDeadlineExceeded) || wrote != resume.DefaultWindow || time.Since(begun) != 5*time.Second {
			t.Errorf("write: %d bytes, %v after %v", wrote, err, time.Since(begun))
		}
		_ = s.SetDeadline(time.Now().Add(-1))
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read after the deadline: %v", err)
		}
		_ = s.SetDeadline(time.Time{})
		done := make(chan struct{})
		go func() { _, _ = s.Read(make([]byte, 1)); close(done) }()
		synctest.Wait()
		select {
		case <-done:
			t.Error("a read without a deadline ended")
		default:
		}
		s.Close()
		<-done
	})
}

func TestStream_ManyWriters_EachWriteStaysTogether(t *testing.T) {
	n := newNetwork(t, "plain")
	a := n.node(1, nil)
	got := make(chan []byte, 1)
	n.node(2, func(c *Config) {
		c.Serve = func(_ uint32, s *Stream) { b, _ := io.ReadAll(s); got <- b; s.Close() }
	})
	s := open(t, a, 2)
	const size, writers = 100 << 10, 8
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for range 4 {
				if _, err := s.Write(bytes.Repeat([]byte{byte(i)}, size)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s.Close()
	b := arrives(t, got, "what was written")
	if len(b) != 4*size*writers {
		t.Fatalf("%d bytes arrived", len(b))
	}
	for ; len(b) > 0; b = b[size:] {
		if !bytes.Equal(b[:size], bytes.Repeat(b[:1], size)) {
			t.Fatal("the bytes of two writes are mixed")
		}
	}
}

// A stream that nobody reads holds up its own writer, and no other stream.
func TestStream_NotRead_HoldsUpOnlyItself(t *testing.T) {
	for _, kind := range []string{"plain", "tls"} {
		n := newNetwork(t, kind)
		a := n.node(1, nil)
		stop := make(chan struct{})
		n.node(2, func(c *Config) {
			c.Serve = func(_ uint32, s *Stream) {
				if string(s.Target()) == "deaf" {
					<-stop
				}
				echo(s)
			}
		})
		var stuck []*Stream
		for range 4 {
			s, err := to(t, a, 2).Open([]byte("deaf"))
			if err != nil {
				t.Fatal(err)
			}
			_ = s.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			if wrote, err := s.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) || wrote != resume.DefaultWindow {
				t.Errorf("%d bytes to a stream that is not read, %v", wrote, err)
			}
			stuck = append(stuck, s)
		}
		s := open(t, a, 2)
		for range 20 {
			exchange(t, s, make([]byte, 300<<10))
		}
		s.Close()
		close(stop)
		for _, s := range stuck { // and now they go on
			if k, err := io.ReadFull(s, make([]byte, resume.DefaultWindow)); err != nil {
				t.Errorf("%d bytes came back: %v", k, err)
			}
			s.Close()
		}
	}
}

// What is not read is at most a window for each stream, and there are at most MaxStreams.
func TestStreams_ThatNobodyReads_MemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window, most = 4 << 10, 8
		n := newNetwork(t, "pipe")
		small := func(c *Config) {
			c.Session = resume.Options{Window: window, MaxUnsent: 16 * window, MaxStreams: most}
		}
		a := n.node(1, small)
		stop := make(chan struct{})
		defer close(stop)
		b := n.node(2, func(c *Config) {
			small(c)
			c.Serve = func(_ uint32, s *Stream) { <-stop; s.Close() }
		})
		for range most {
			s := open(t, a, 2)
			go func() { _, _ = s.Write(make([]byte, 1<<20)) }()
		}
		if _, err := to(t, a, 2).Open(nil); !errors.Is(err, resume.ErrStreams) {
			t.Errorf("one stream more than allowed: %v", err)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		s, err := to(t, b, 1).session()
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		kept, used := 0, 0
		for _, x := range s.streams {
			kept += len(x.in.buf)
			used += x.in.n
		}
		if used != most*window || kept != most*window {
			t.Errorf("%d bytes are unread, in buffers of %d bytes, for %d streams with windows of %d", used, kept, most, window)
		}
	})
}

// pattern is what a test writes to a stream: each byte depends on the stream and on its place.
type pattern struct{ from *rand.PCG }

func newPattern(seed uint64) *pattern { return &pattern{rand.NewPCG(seed, 1)} }

func (p *pattern) fill(b []byte) {
	for i := range b {
		b[i] = byte(p.from.Uint64() >> 40)
	}
}

// The connection is cut a thousand times while streams carry bytes in both directions. Each byte arrives once and in order.
func TestSession_ThousandCuts_EachByteArrivesOnce(t *testing.T) {
	cuts := 1000
	if testing.Short() {
		cuts = 100
	}
	const streams = 8
	n := newNetwork(t, "tls")
	var counts sync.Map // by stream, what the other end received
	var served sync.WaitGroup
	small := func(c *Config) { // so that a cut costs little, and windows are often full
		c.Session.Window = 8 << 10
		c.Down = func(_ uint32, why error) { t.Error(why) }
	}
	a := n.node(1, small)
	n.node(2, func(c *Config) {
		small(c)
		c.Serve = func(_ uint32, s *Stream) {
			defer served.Done()
			defer s.Close()
			seed := uint64(s.Target()[0])
			got, err := check(s, newPattern(seed), s)
			if err != nil {
				t.Errorf("stream %d at node 2: %v", seed, err)
			}
			counts.Store(seed, got)
		}
	})
	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	var wrote [streams]int
	for i := range streams {
		served.Add(1)
		s, err := to(t, a, 2).Open([]byte{byte(i)})
		if err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			p, die, b := newPattern(uint64(i)), rand.New(rand.NewPCG(uint64(i), 2)), make([]byte, 3<<10)
			for {
				select {
				case <-stop:
					return
				default:
				}
				part := b[:1+die.IntN(len(b))]
				p.fill(part)
				k, err := s.Write(part)
				wrote[i] += k
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
		readers.Go(func() { // the echo
			defer s.Close()
			got, err := checkUntil(s, newPattern(uint64(i)), func() (int, bool) {
				select {
				case <-stop:
					writers.Wait()
					return wrote[i], true
				default:
					return 0, false
				}
			})
			if err != nil {
				t.Errorf("stream %d at node 1, after %d bytes: %v", i, got, err)
			}
		})
	}
	for i := range cuts {
		if i%50 == 0 { // perhaps before anything has come over it
			waitConn(t, to(t, a, 2))
		} else {
			marker := open(t, a, 2)
			served.Add(1)
			mark := []byte{0}
			newPattern(uint64(marker.Target()[0])).fill(mark)
			exchange(t, marker, mark)
			marker.Close()
		}
		n.cut(false)
	}
	close(stop)
	readers.Wait()
	served.Wait()
	total := 0
	for i := range streams {
		got, _ := counts.Load(uint64(i))
		if got != wrote[i] {
			t.Errorf("stream %d: %d bytes were written, and %v arrived", i, wrote[i], got)
		}
		total += wrote[i]
	}
	t.Logf("%d cuts, %d bytes each way, %d connections", cuts, total, n.dialed())
}

// check reads a stream to its end, compares, and sends all back.
func check(r io.Reader, p *pattern, back io.Writer) (got int, err error) {
	b, want := make([]byte, 32<<10), make([]byte, 32<<10)
	for {
		k, err := r.Read(b)
		p.fill(want[:k])
		if !bytes.Equal(b[:k], want[:k]) {
			return got, fmt.Errorf("the bytes from %d on are others", got)
		}
		got += k
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		if _, err := back.Write(b[:k]); err != nil && !errors.Is(err, ErrEnded) {
			return got, err
		}
	}
}

// checkUntil reads a stream until all has come, and compares.
func checkUntil(s *Stream, p *pattern, total func() (int, bool)) (got int, err error) {
	b, want := make([]byte, 32<<10), make([]byte, 32<<10)
	for {
		if n, known := total(); known && got >= n {
			return got, nil
		}
		_ = s.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		k, err := s.Read(b)
		p.fill(want[:k])
		if !bytes.Equal(b[:k], want[:k]) {
			return got, fmt.Errorf("the bytes from %d on are others", got)
		}
		got += k
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return got, err
		}
	}
}

// waitConn waits until the session has a connection.
func waitConn(t *testing.T, k *Link) {
	t.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(200 * time.Microsecond) {
		s, err := k.session()
		if err != nil {
			t.Fatal(err)
		}
		if s.attached() {
			return
		}
		if time.Now().After(end) {
			t.Fatal("no connection came")
		}
	}
}

func (s *session) attached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil
}
