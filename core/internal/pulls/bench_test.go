package pulls

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
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
	here, there := pair(b)
	defer here.Close()
	defer there.Close()
	copies(b, here, there)
}

// copies measures how long 100 MiB take from one end of a connection to the other.
func copies(b *testing.B, here, there net.Conn) {
	src, dst := make([]byte, 100*mib), make([]byte, 100*mib)
	b.SetBytes(int64(len(src)))
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
	copies(b, here, there)
}

// lane lets so many bytes through in a second, for all connections that use it.
type lane struct {
	mu   sync.Mutex
	next time.Time
	rate float64
}

// pass returns when n bytes more have gone through.
func (l *lane) pass(n int) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.next.Before(now) {
		l.next = now
	}
	l.next = l.next.Add(time.Duration(float64(n) / l.rate * 1e9))
	return l.next
}

// shaped is a connection that goes through the lane out of one node and the lane into another one.
type shaped struct {
	net.Conn
	out, in *lane
}

func (c *shaped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), 256<<10)])
	out, in := c.out.pass(n), c.in.pass(n)
	time.Sleep(time.Until(out))
	time.Sleep(time.Until(in))
	return n, err
}

// BenchmarkBroadcast is an object that goes to one node, and then one that goes to eight, where each node sends and takes 25 MB in a second.
func BenchmarkBroadcast(b *testing.B) {
	const size, rate = 512 * mib, 25e6
	numbers := []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9}
	w := newWorld(b, size+64*mib, numbers...)
	outs, ins := map[uint32]*lane{}, map[uint32]*lane{}
	for _, n := range numbers {
		outs[n], ins[n] = &lane{rate: rate}, &lane{rate: rate}
	}
	w.change = func(from, to uint32, c net.Conn) (net.Conn, error) {
		_ = c.(*net.TCPConn).SetReadBuffer(256 << 10)
		return &shaped{Conn: c, out: outs[to], in: ins[from]}, nil
	}
	from, c := w.nodes[1], &process{}
	read := func(readers []uint32) time.Duration {
		id := from.id()
		from.put(c, id, size)
		begin := time.Now()
		var got []<-chan pinned
		for _, n := range readers {
			got = append(got, w.nodes[n].ask(c, id, Get))
		}
		for _, x := range got {
			select {
			case y := <-x:
				if y.err != nil {
					b.Fatal(y.err)
				}
			case <-time.After(10 * time.Minute):
				b.Fatal("nothing came")
			}
		}
		took := time.Since(begin)
		for _, n := range readers {
			w.nodes[n].unpin(c, id)
		}
		from.free(c, id)
		for _, n := range w.nodes {
			n.empty()
		}
		return took
	}
	for b.Loop() {
		one, all := read(numbers[1:2]), read(numbers[1:])
		b.ReportMetric(one.Seconds(), "s/one")
		b.ReportMetric(all.Seconds(), "s/eight")
		b.ReportMetric(all.Seconds()/one.Seconds(), "eight/one")
	}
}
