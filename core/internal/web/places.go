package web

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// bounded is a listener that has some places for connections. When all are taken, a new one gets the place of the oldest one of the
// address that has most of those that have shown no token; if there is none, the new one is closed.
type bounded struct {
	net.Listener

	mu    sync.Mutex
	taken []*placed // in the order in which they came
}

// placed is a connection. It gives its place back when it is closed.
type placed struct {
	net.Conn
	places *bounded
	from   netip.Addr
	proved bool // it has shown a token; guarded by bounded.mu
}

func newBounded(l net.Listener) *bounded { return &bounded{Listener: l} }

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p := &placed{Conn: c, places: b, from: pki.SourceOf(c)}
		entered, evicted := b.enter(p)
		if evicted != nil {
			evicted.Conn.Close()
		}
		if entered {
			return p, nil
		}
		c.Close()
	}
}

func (b *bounded) enter(p *placed) (entered bool, evicted *placed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.taken) >= maxConns {
		i := b.victim()
		if i < 0 {
			return false, nil
		}
		evicted = b.taken[i]
		b.taken = slices.Delete(b.taken, i, i+1)
	}
	b.taken = append(b.taken, p)
	return true, evicted
}

// victim returns which one gives way; -1: none.
func (b *bounded) victim() int {
	count := map[netip.Addr]int{}
	most := 0
	for _, p := range b.taken {
		if !p.proved {
			count[p.from]++
			most = max(most, count[p.from])
		}
	}
	return slices.IndexFunc(b.taken, func(p *placed) bool { return !p.proved && count[p.from] == most })
}

// Close implements net.Conn.
func (p *placed) Close() error {
	p.places.leave(p)
	return p.Conn.Close()
}

func (b *bounded) leave(p *placed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.taken, p); i >= 0 {
		b.taken = slices.Delete(b.taken, i, i+1)
	}
}

// placeKey is the key of a request's connection.
type placeKey struct{}

func withPlace(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, placeKey{}, c)
}

// proved notes that the connection of a request has shown a token.
func proved(ctx context.Context) {
	if p, ok := ctx.Value(placeKey{}).(*placed); ok {
		p.places.prove(p)
	}
}

func (b *bounded) prove(p *placed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.proved = true
}
