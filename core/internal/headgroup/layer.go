package headgroup

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// layer gives Raft connections between heads. Raft's address of a head is its name.
type layer struct {
	g    *Group
	came chan net.Conn
	once sync.Once
	done chan struct{}
}

// name is a head's name as the address of a listener.
type name string

func (n name) Network() string { return "eagleray" }
func (n name) String() string  { return string(n) }

// Accept implements net.Listener.
func (l *layer) Accept() (net.Conn, error) {
	select {
	case c := <-l.came:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *layer) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *layer) Addr() net.Addr { return name(l.g.o.ID) }

// Dial implements raft.StreamLayer.
func (l *layer) Dial(id raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	number, known := l.g.o.Book.Number(string(id))
	if !known {
		return nil, fmt.Errorf("head %s: nobody knows where it is", id)
	}
	ctx, cancel := context.WithTimeout(l.g.ctx, timeout)
	defer cancel()
	return l.g.o.Dial(ctx, number)
}

// Serve gives Raft a connection that another head has dialed, and returns when the connection has ended.
func (g *Group) Serve(from uint32, c net.Conn) {
	w := &watched{Conn: c, ended: make(chan struct{})}
	select {
	case g.layer.came <- w:
	case <-g.layer.done:
		c.Close()
		return
	}
	select {
	case <-w.ended:
		g.suspect(from)
	case <-g.ctx.Done():
	}
	c.Close()
}

// watched is a connection whose end is noticed by whoever serves it.
type watched struct {
	net.Conn
	once  sync.Once
	ended chan struct{}
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil {
		w.end()
	}
	return n, err
}

func (w *watched) Close() error {
	w.end()
	return w.Conn.Close()
}

func (w *watched) end() { w.once.Do(func() { close(w.ended) }) }

// Bounds of Raft's connections.
const (
	pooled    = 3                // idle connections that are kept to each head
	rpcLimit  = 10 * time.Second // for one message and its answer; more for snapshots
	rpcBuffer = 64
)

// transport is raft's network transport, whose incoming messages can have one of this head's own among them. While the disk of this head does not
// answer, it sends no entries and heartbeats.
type transport struct {
	*raft.NetworkTransport
	rpcs     chan raft.RPC
	stall    stall
	contacts contacts
	ctx      context.Context // done when Raft ends
	leave    context.CancelFunc
}

// Leave implements raftstate.Leaver.
func (t *transport) Leave() { t.leave() }

// Consumer implements raft.Transport.
func (t *transport) Consumer() <-chan raft.RPC { return t.rpcs }

func newTransport(g *Group, log hclog.Logger) *transport {
	n := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: g.layer, MaxPool: pooled, Timeout: rpcLimit, Logger: log, MsgpackUseNewTimeFormat: true,
	})
	t := &transport{NetworkTransport: n, rpcs: make(chan raft.RPC, rpcBuffer), stall: stall{is: g.stalled, log: g.o.Log}}
	t.ctx, t.leave = context.WithCancel(g.ctx)
	g.work.Go(func() { t.pass(g.ctx) })
	return t
}

// pass passes on what comes from other heads.
func (t *transport) pass(ctx context.Context) {
	for {
		select {
		case rpc := <-t.NetworkTransport.Consumer():
			select {
			case t.rpcs <- rpc:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
