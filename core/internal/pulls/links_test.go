package pulls

import (
	"crypto/rand"
	"crypto/tls"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// linked joins the nodes of a world by real links with TLS over TCP.
func (w *world) linked() {
	authority, err := pki.NewAuthority(pki.Cluster{1}, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	addresses := map[uint32]string{}
	listeners := map[uint32]net.Listener{}
	for number := range w.nodes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			w.t.Fatal(err)
		}
		listeners[number], addresses[number] = l, l.Addr().String()
	}
	for number, n := range w.nodes {
		id := pki.Identity{Cluster: pki.Cluster{1}, Generation: 1, Role: pki.RoleNode, Number: number}
		links, err := link.Open(link.Config{
			Self: id, TLS: certified(w.t, authority, id), Log: slog.New(slog.DiscardHandler),
			Resolve: func(node uint32) []string { return []string{addresses[node]} },
			Serve:   func(_ uint32, s *link.Stream) { s.Close() },
			Bulk:    n.p.Serve,
			Control: func(from uint32, _ *wire.Peer) wire.Handler {
				return func(m *wire.Message) { n.p.Handle(from, m) }
			},
			Down: func(node uint32, _ error) { n.p.NodeGone(node) },
		})
		if err != nil {
			w.t.Fatal(err)
		}
		n.links = links
		w.t.Cleanup(links.Close) // before the world's own end
		go func() { _ = links.Listen(listeners[number]) }()
	}
}

// certified returns the TLS configuration of a member with a certificate.
func certified(t testing.TB, a *pki.Authority, id pki.Identity) func(...string) *tls.Config {
	k, err := pki.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	csr, err := k.Request()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := a.Sign(csr, id, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Install(cert, [][]byte{a.Certificate()}); err != nil {
		t.Fatal(err)
	}
	return k.TLS
}

// Over real links with TLS: arguments and results of several sizes, a node that dies while others read from it, and what is freed.
func TestLinks_ObjectsGoBothWays(t *testing.T) {
	w := newWorld(t, 128*mib, 1, 2, 3)
	w.linked()
	a, b, c := w.nodes[1], w.nodes[2], w.nodes[3]
	driver, worker := &process{}, &process{}
	for _, size := range []uint64{100 << 10, chunkSize, 40*mib + 1} {
		argument, result := a.id(), a.id()
		a.put(driver, argument, size)
		b.get(worker, argument, size)
		c.get(worker, argument, size)
		b.put(worker, result, size)
		a.get(driver, result, size)
		for _, n := range []*node{b, c} {
			n.unpin(worker, argument)
		}
		a.unpin(driver, result)
		a.free(driver, argument, result)
		for _, n := range w.nodes {
			n.empty()
		}
	}
	last := a.id()
	c.put(worker, last, 30*mib)
	b.get(worker, last, 30*mib)
	got := a.ask(driver, last, Get)
	a.links.Dead(3)
	b.links.Dead(3)
	a.same(receive(t, got), last, 30*mib)
	a.unpin(driver, last)
	b.unpin(worker, last)
	a.free(driver, last)
	a.empty()
	b.empty()
}

// BenchmarkLinks is BenchmarkPull over a real link with TLS, for 100 MiB.
func BenchmarkLinks(b *testing.B) {
	w := newWorld(b, 512*mib, 1, 2)
	w.linked()
	from, to := w.nodes[1], w.nodes[2]
	c := &process{}
	const size = 100 * mib
	data := make([]byte, size)
	if _, err := rand.Read(data); err != nil { // it cannot be compressed
		b.Fatal(err)
	}
	b.SetBytes(size)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		id := ids.NewObject(uint64(i+1), from.owner, ids.JobOf(1), 2)
		at, err := from.create(c, id, size)
		if err != nil {
			b.Fatal(err)
		}
		from.write(at, data)
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
}
