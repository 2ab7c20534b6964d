package pulls

import (
	"crypto/tls"
	"io"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/pki"
)

// BenchmarkPull is an object that one node has and another one reads, over TCP on one machine, from the question where it is until it can be read.
func BenchmarkPull(b *testing.B) {
	for _, x := range []struct {
		name string
		size uint64
	}{{"100 KiB", 100 << 10}, {"8 MiB", 8 * mib}, {"100 MiB", 100 * mib}} {
		b.Run(x.name, func(b *testing.B) {
			w := newWorld(b, 512*mib, 1, 2)
			from, to := w.nodes[1], w.nodes[2]
			c := &process{}
			b.SetBytes(int64(x.size))
			for b.Loop() {
				b.StopTimer()
				id := from.id()
				at, err := from.create(c, id, x.size)
				if err != nil {
					b.Fatal(err)
				}
				from.write(at, make([]byte, x.size))
				from.seal(c, id)
				b.StartTimer()
				if got := receive(b, to.ask(c, id, Get)); got.err != nil {
					b.Fatal(got.err)
				}
				b.StopTimer()
				to.unpin(c, id)
				from.free(c, id)
				to.empty()
				from.empty()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkBareTCP is what BenchmarkPull is measured against: 100 MiB over one connection.
func BenchmarkBareTCP(b *testing.B) {
	const size = 100 * mib
	here, there := pair(b)
	defer here.Close()
	defer there.Close()
	src, dst := make([]byte, size), make([]byte, size)
	b.SetBytes(size)
	for b.Loop() {
		go func() { _, _ = there.Write(src) }()
		if _, err := io.ReadFull(here, dst); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkElsewhere is what a pin costs on a machine that is alone.
func BenchmarkElsewhere(b *testing.B) {
	w := newWorld(b, 80*mib, 1)
	n := w.nodes[1]
	n.p.o.Network = nil
	id := ids.NewObject(1, n.owner, ids.JobOf(1), 1)
	for b.Loop() {
		if n.p.Elsewhere(id) {
			b.Fatal("it is elsewhere")
		}
		n.p.Sealed(id)
		n.p.Freed(id)
	}
}

// BenchmarkBareTLS is what BenchmarkLinks is measured against: 100 MiB over one connection with TLS, into memory that is there.
func BenchmarkBareTLS(b *testing.B) {
	const size = 100 * mib
	authority, err := pki.NewAuthority(pki.Cluster{1}, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	config := func(number uint32) *tls.Config {
		return certified(b, authority, pki.Identity{Cluster: pki.Cluster{1}, Generation: 1, Role: pki.RoleNode, Number: number})(link.Protocol)
	}
	rawHere, rawThere := pair(b)
	here, there := tls.Client(rawHere, config(1)), tls.Server(rawThere, config(2))
	defer here.Close()
	defer there.Close()
	src, dst := make([]byte, size), make([]byte, size)
	b.SetBytes(size)
	for b.Loop() {
		go func() { _, _ = there.Write(src) }()
		if _, err := io.ReadFull(here, dst); err != nil {
			b.Fatal(err)
		}
	}
}
