package pipes

import (
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// cpu returns what this process has used of the processors.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// echo writes back what it reads, on a goroutine that ends with the connection.
func echo(c net.Conn) {
	go func() { _, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}) }()
}

// One round trip of 100 bytes: over a Unix socket, and through both ends of a pipe whose stream is
// a Unix socket as well. cpu-µs/op is that of all goroutines together.
func BenchmarkRoundTrip(b *testing.B) {
	for name, join := range map[string]func(w *world) (caller, target net.Conn){
		"direct": func(w *world) (net.Conn, net.Conn) { x, y := w.pair(); return x, y },
		"pipe": func(w *world) (net.Conn, net.Conn) {
			x, y, _, _ := w.joined(wire.RoleLease)
			return x, y
		},
	} {
		b.Run(name, func(b *testing.B) {
			caller, target := join(newWorld(b, 0))
			defer caller.Close()
			defer target.Close()
			_, _ = caller.SetDeadline(time.Time{}), target.SetDeadline(time.Time{})
			echo(target)
			buf := make([]byte, 100)
			before := cpu(b)
			for b.Loop() {
				if _, err := caller.Write(buf); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(caller, buf); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// Writes of 100 bytes, one after the other, without an answer until the last one.
func BenchmarkOneWay(b *testing.B) {
	for name, piped := range map[string]bool{"direct": false, "pipe": true} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, 0)
			var caller, target net.Conn
			if piped {
				caller, target, _, _ = w.joined(wire.RoleLease)
			} else {
				caller, target = w.pair()
			}
			defer caller.Close()
			defer target.Close()
			_, _ = caller.SetDeadline(time.Time{}), target.SetDeadline(time.Time{})
			b.SetBytes(100)
			got := make(chan int64, 1)
			go func() {
				n, _ := io.Copy(io.Discard, struct{ io.Reader }{target})
				got <- n
			}()
			buf, sent := make([]byte, 100), int64(0)
			before := cpu(b)
			for b.Loop() {
				n, err := caller.Write(buf)
				if sent += int64(n); err != nil {
					b.Fatal(err)
				}
			}
			caller.Close()
			if n := <-got; n != sent {
				b.Fatalf("%d of %d bytes came", n, sent)
			}
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// Opening a pipe, one byte there and back, closing it.
func BenchmarkOpen(b *testing.B) {
	w := newWorld(b, 0)
	from := w.a.process()
	to, l := w.b.listens()
	go func() {
		for {
			u, err := l.AcceptUnix()
			if err != nil {
				return
			}
			go func() {
				defer u.Close()
				if _, err := wire.ReadHello(u); err == nil {
					_, _ = io.Copy(struct{ io.Writer }{u}, struct{ io.Reader }{u})
				}
			}()
		}
	}()
	for b.Loop() {
		c, near := w.pair()
		w.a.pipes.Near(near, to)
		h, err := wire.AppendMessage(nil, wire.Request, wire.THello, 1, 0, hello(from, wire.RoleLease))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Write(append(h, 1)); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, h[:1]); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}
