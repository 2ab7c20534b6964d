package direct

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// soon is how long a test waits for what must happen.
const soon = 20 * time.Second

var networks = []string{"tcp", "unix"}

// pair returns the ends of a connection: a Conn, and an ordinary one.
func pair(t testing.TB, network string) (*Conn, net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	x, err := net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	y, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { y.Close() })
	c, err := New(x.(Socket))
	if err != nil {
		t.Fatal(err)
	}
	c.Settle()
	t.Cleanup(func() { c.Close() })
	return c, y
}

// ends returns the first error of a reader, which drops what it reads.
func ends(c io.Reader) chan error {
	done := make(chan error, 1)
	go func() {
		b := make([]byte, 100)
		for {
			if _, err := c.Read(b); err != nil {
				done <- err
				return
			}
		}
	}()
	return done
}

func arrives[T any](t testing.TB, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(soon):
		t.Fatalf("%s did not come", what)
	}
	return v
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", soon, what)
		}
	}
}

// files is how many descriptors the process has open.
func files(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// echo sends back what comes.
func echo(c *Conn) chan error {
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
		done <- err
	}()
	return done
}

// busy exchanges messages until the reader of the echo has a thread.
func busy(t *testing.T, other net.Conn) {
	t.Helper()
	b := make([]byte, 100)
	eventually(t, "the reader gets a thread", func() bool {
		for range 2 * busyWaits {
			if _, err := other.Write(b); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(other, b); err != nil {
				t.Fatal(err)
			}
		}
		return threads.Load() > 0
	})
}

func noThreads(t *testing.T) {
	t.Helper()
	eventually(t, "all threads are given back", func() bool { return threads.Load() == 0 })
}

func TestConn_OneByOne_ReaderGetsAThreadAndGivesItBack(t *testing.T) {
	for _, network := range networks {
		t.Run(network, func(t *testing.T) {
			c, other := pair(t, network)
			end := echo(c)
			busy(t, other)
			noThreads(t) // nothing comes any more
			busy(t, other)
			other.Close()
			if err := arrives(t, end, "the end"); err != nil {
				t.Error(err)
			}
			c.Close()
			noThreads(t)
		})
	}
}

// A reader that waits in the kernel, and one that waits for the parking, are both ended.
func TestConn_Close_EndsTheReader(t *testing.T) {
	for _, network := range networks {
		for name, prepare := range map[string]func(*testing.T, net.Conn){"a thread": busy, "no thread": func(*testing.T, net.Conn) {}} {
			t.Run(network+", "+name, func(t *testing.T) {
				pair(t, network) // Go's poller has a descriptor, too
				before := files(t)
				c, other := pair(t, network)
				end := echo(c)
				prepare(t, other)
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if err := arrives(t, end, "the end"); !errors.Is(err, net.ErrClosed) {
					t.Errorf("the reader ended with %v", err)
				}
				if err := arrives(t, ends(other), "the end of the other side"); !errors.Is(err, io.EOF) {
					t.Errorf("the other side ended with %v", err)
				}
				if _, err := c.Write([]byte{1}); !errors.Is(err, net.ErrClosed) {
					t.Errorf("write after Close: %v", err)
				}
				if err := c.Close(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("second Close: %v", err)
				}
				other.Close()
				noThreads(t)
				eventually(t, "the descriptors are closed", func() bool { return files(t) <= before })
			})
		}
	}
}

// What the other end had written is read before the end.
func TestConn_Shutdown_WhatArrivedIsReadFirst(t *testing.T) {
	for _, network := range networks {
		t.Run(network, func(t *testing.T) {
			c, other := pair(t, network)
			if _, err := other.Write([]byte("last words")); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 4)
			if _, err := io.ReadFull(c, b); err != nil {
				t.Fatal(err)
			}
			c.Shutdown()
			rest, err := io.ReadAll(c)
			if string(b)+string(rest) != "last words" || err != nil {
				t.Errorf("%q and %q were read, %v", b, rest, err)
			}
		})
	}
}

func TestConn_ShutdownWhileReaderWaits_ReaderEnds(t *testing.T) {
	c, other := pair(t, "unix")
	end := echo(c)
	busy(t, other)
	c.Shutdown()
	if err := arrives(t, end, "the end of a reader with a thread"); err != nil {
		t.Error(err)
	}
	d, _ := pair(t, "unix")
	end = ends(d)
	d.Shutdown()
	if err := arrives(t, end, "the end of a reader without a thread"); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// noise is what cannot come right by chance.
func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7 >> 3)
	}
	return b
}

// modes says whether the reader has a thread while something is written.
var modes = map[string]func(*testing.T, *Conn, net.Conn){
	"no thread": func(*testing.T, *Conn, net.Conn) {},
	"a thread": func(t *testing.T, c *Conn, _ net.Conn) {
		c.reader.short = busyWaits
		if c.toThread(); c.polled != nil {
			t.Fatal("the reader has no thread")
		}
	},
}

func inEachMode(t *testing.T, test func(t *testing.T, c *Conn, other net.Conn)) {
	for _, network := range networks {
		for mode, prepare := range modes {
			t.Run(network+", "+mode, func(t *testing.T) {
				c, other := pair(t, network)
				prepare(t, c, other)
				test(t, c, other)
				c.Close()
				noThreads(t)
			})
		}
	}
}

func TestConn_OtherEndIsSlow_WriteWaits(t *testing.T) {
	inEachMode(t, func(t *testing.T, c *Conn, other net.Conn) {
		sent := noise(20 << 20)
		done := make(chan error, 1)
		go func() {
			_, err := c.Write(sent)
			c.Close()
			done <- err
		}()
		first := make([]byte, 1)
		if _, err := io.ReadFull(other, first); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(other)
		if got = append(first, got...); !bytes.Equal(got, sent) || err != nil {
			t.Errorf("%d bytes came, or others: %v", len(got), err)
		}
		if err := arrives(t, done, "the end of the write"); err != nil {
			t.Error(err)
		}
	})
}

// A Write that waits is ended, and the descriptor is not taken away below it.
func TestConn_CloseWhileWriteWaits_WriteEnds(t *testing.T) {
	inEachMode(t, func(t *testing.T, c *Conn, _ net.Conn) {
		done := make(chan error, 1)
		go func() {
			_, err := c.Write(noise(20 << 20))
			done <- err
		}()
		eventually(t, "the writer has begun", func() bool {
			free := c.writer.TryLock()
			if free {
				c.writer.Unlock()
			}
			return !free
		})
		c.toPoller() // it is not possible now
		c.Close()
		if err := arrives(t, done, "the end of the write"); err == nil {
			t.Error("all was written, and nobody has read")
		}
	})
}

// The reader goes between the thread and the poller all the time, and what is written meanwhile arrives in order.
func TestConn_ReaderChangesAllTheTime_StreamsAreWhole(t *testing.T) {
	for _, network := range networks {
		t.Run(network, func(t *testing.T) {
			c, other := pair(t, network)
			sent := noise(3 << 20)
			wrote, got := make(chan error, 1), make(chan []byte, 1)
			go func() {
				for at := 0; at < len(sent); at += 3 << 10 {
					if _, err := c.Write(sent[at:min(at+3<<10, len(sent))]); err != nil {
						wrote <- err
						return
					}
				}
				wrote <- nil
			}()
			go func() {
				b := make([]byte, len(sent))
				n, _ := io.ReadFull(other, b)
				got <- b[:n]
			}()
			go func() { // one byte at a time, so that the reader gets a thread, and much, so that it leaves it
				for i := range 400 {
					size := 1
					if i%100 == 99 {
						size = 64 << 10
					}
					if _, err := other.Write(make([]byte, size)); err != nil {
						return
					}
				}
			}()
			b := make([]byte, 64<<10)
			for n := 0; n < 396+4*64<<10; {
				k, err := c.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				if n += k; k == 1 {
					c.reader.short = busyWaits
					c.toThread()
				}
			}
			if err := arrives(t, wrote, "the end of the writes"); err != nil {
				t.Error(err)
			}
			if b := arrives(t, got, "what was written"); !bytes.Equal(b, sent) {
				t.Errorf("%d bytes came, or others", len(b))
			}
		})
	}
}

func TestConn_LazyWrites_NeverWaitAndStayInOrder(t *testing.T) {
	inEachMode(t, func(t *testing.T, c *Conn, other net.Conn) {
		sent := noise(12 << 20)
		c.Lazily(true)
		for at := 0; at < len(sent); at += 1 << 20 {
			if n, err := c.Write(sent[at : at+1<<20]); n != 1<<20 || err != nil {
				t.Fatal(n, err)
			}
		}
		if !c.Lazily(false) {
			t.Fatal("nothing is left, so the test shows nothing")
		}
		done := make(chan error, 1)
		go func() {
			_, err := c.Write([]byte("end"))
			c.Close()
			done <- err
		}()
		got, err := io.ReadAll(other)
		if !bytes.Equal(got, append(sent, "end"...)) || err != nil {
			t.Errorf("%d bytes came, or others: %v", len(got), err)
		}
		if err := arrives(t, done, "the end of the write"); err != nil {
			t.Error(err)
		}
		if c.Lazily(false) {
			t.Error("something is left")
		}
	})
}

func TestConn_TryWrite_TakesWhatThereIsRoomFor(t *testing.T) {
	inEachMode(t, func(t *testing.T, c *Conn, other net.Conn) {
		sent, done := noise(32<<20), 0
		for n := 1; n > 0; done += n {
			n = c.TryWrite(sent[done:])
		}
		if done == 0 || done == len(sent) {
			t.Fatalf("%d of %d bytes were taken", done, len(sent))
		}
		go func() {
			_, _ = c.Write(sent[done:])
			c.Close()
		}()
		if got, err := io.ReadAll(other); !bytes.Equal(got, sent) || err != nil {
			t.Errorf("%d bytes came, or others: %v", len(got), err)
		}
		if n := c.TryWrite([]byte{1}); n != 0 {
			t.Errorf("%d bytes were taken after Close", n)
		}
	})
}

func TestTakeThread_AllAreTaken_NoneIsLeft(t *testing.T) {
	noThreads(t)
	taken := 0
	for takeThread() {
		taken++
	}
	threads.Add(-int32(taken))
	if taken != maxThreads {
		t.Errorf("%d threads were taken, want %d", taken, maxThreads)
	}
}

// A stream of data stays with Go's poller, also after a reader had a thread.
func TestConn_MuchData_ReaderHasNoThread(t *testing.T) {
	for _, network := range networks {
		t.Run(network, func(t *testing.T) {
			c, other := pair(t, network)
			end := echo(c)
			busy(t, other)
			sent := make([]byte, 64<<10)
			for range 20 {
				go other.Write(sent)
				if _, err := io.ReadFull(other, make([]byte, len(sent))); err != nil {
					t.Fatal(err)
				}
			}
			if n := threads.Load(); n != 0 {
				t.Errorf("%d readers have a thread", n)
			}
			c.Close()
			arrives(t, end, "the end")
		})
	}
}

// A process that has no descriptor to spare keeps its connections as they are.
func TestConn_NoDescriptorIsFree_ReaderStaysWithThePoller(t *testing.T) {
	c, other := pair(t, "unix")
	end := echo(c)
	busy(t, other)
	var all []*os.File
	defer func() {
		for _, f := range all {
			f.Close()
		}
	}()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = uint64(files(t) + 8)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before) }()
	for {
		f, err := os.Open("/dev/null")
		if err != nil {
			break
		}
		all = append(all, f)
	}
	go other.Write(make([]byte, 64<<10)) // much data: the reader would leave its thread
	b := make([]byte, 64<<10)
	if _, err := io.ReadFull(other, b); err != nil {
		t.Fatal(err)
	}
	for range 10 * againWaits { // and would get one again
		if _, err := other.Write(b[:1]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(other, b[:1]); err != nil {
			t.Fatal(err)
		}
	}
	other.Close()
	if err := arrives(t, end, "the end"); err != nil {
		t.Error(err)
	}
}

// Before Settle there are deadlines, and the reader gets no thread.
func TestConn_Settle_EndsDeadlines(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	x, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(x.(*net.TCPConn))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read behind the deadline: %v", err)
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if c.toThread(); c.polled == nil || threads.Load() != 0 {
		t.Error("the reader has a thread")
	}
	c.Settle()
	if err := c.SetReadDeadline(time.Now()); !errors.Is(err, os.ErrNoDeadline) {
		t.Errorf("a deadline after Settle: %v", err)
	}
}
