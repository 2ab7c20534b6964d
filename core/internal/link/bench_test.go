package link

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/eagleray/eagleray/core/internal/resume"
)

// kinds are the transports that are measured.
var kinds = []string{"plain", "tls", "unix"}

// BenchmarkOneByOne sends 100 bytes and waits for them to come back, over a stream and over a bare connection.
func BenchmarkOneByOne(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind, func(b *testing.B) {
			n := newNetwork(b, kind)
			a := n.node(1, nil)
			n.node(2, nil)
			s := open(b, a, 2)
			defer s.Close()
			oneByOne(b, s)
		})
		b.Run("bare-"+kind, func(b *testing.B) { oneByOne(b, bare(b, kind, echo)) })
	}
}

func oneByOne(b *testing.B, c net.Conn) {
	msg := make([]byte, 100)
	exchange(b, c, msg)
	for b.Loop() {
		if _, err := c.Write(msg); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, msg); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPipelined sends messages of 100 bytes one after the other; an operation is a message.
func BenchmarkPipelined(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind, func(b *testing.B) { stream(b, kind, 100) })
		b.Run("bare-"+kind, func(b *testing.B) {
			got := make(chan int64, 1)
			send(b, bare(b, kind, swallow(got)), 100, got)
		})
	}
}

// BenchmarkOneStream sends 64 KiB at a time over a single stream, and over a bare connection.
func BenchmarkOneStream(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind, func(b *testing.B) { stream(b, kind, 64<<10) })
		b.Run("bare-"+kind, func(b *testing.B) {
			got := make(chan int64, 1)
			send(b, bare(b, kind, swallow(got)), 64<<10, got)
		})
	}
}

func stream(b *testing.B, kind string, size int) {
	n := newNetwork(b, kind)
	got := make(chan int64, 1)
	a := n.node(1, nil)
	n.node(2, func(c *Config) { c.Serve = func(_ uint32, s *Stream) { swallow(got)(s) } })
	send(b, open(b, a, 2), size, got)
}

// swallow reads to the end and says how much came.
func swallow(got chan int64) func(net.Conn) {
	return func(c net.Conn) {
		defer c.Close()
		n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 64<<10))
		got <- n
	}
}

func send(b *testing.B, c net.Conn, size int, got chan int64) {
	msg := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := c.Write(msg); err != nil {
			b.Fatal(err)
		}
	}
	c.Close()
	if n := arrives(b, got, "the end"); n != int64(b.N)*int64(size) {
		b.Fatalf("%d bytes arrived", n)
	}
}

// bare returns a connection without this package.
func bare(b *testing.B, kind string, serve func(net.Conn)) net.Conn {
	n := newNetwork(b, kind)
	x, y, err := n.make()
	if err != nil {
		b.Fatal(err)
	}
	if kind == "tls" {
		x, y = tls.Client(x, keys(b, n.authority, identity(1))(Protocol)), tls.Server(y, keys(b, n.authority, identity(2))(Protocol))
	}
	b.Cleanup(func() { x.Close(); y.Close() })
	go serve(y)
	return x
}

// BenchmarkStreams sends 100 bytes on each of many streams in turn.
func BenchmarkStreams(b *testing.B) {
	for _, streams := range []int{10, 1000} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			n := newNetwork(b, "tls")
			a := n.node(1, nil)
			n.node(2, func(c *Config) {
				c.Serve = func(_ uint32, s *Stream) { _, _ = io.Copy(io.Discard, s); s.Close() }
			})
			list := make([]*Stream, streams)
			for i := range list {
				list[i] = open(b, a, 2)
			}
			msg := make([]byte, 100)
			b.ResetTimer()
			for i := range b.N {
				if _, err := list[i%streams].Write(msg); err != nil {
					b.Fatal(err)
				}
			}
			for _, s := range list {
				_ = s.CloseWith(resume.Closed)
			}
		})
	}
}
