package guests

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// dialPause is how long a node that could not be reached counts as one that may still answer.
const dialPause = 100 * time.Millisecond

// Host is the session of the guest.
type Host interface {
	// Heard handles a message of another node's daemon. The mutex is not held.
	Heard(node uint32, m *wire.Message)
	// HomeLost is told that another node's daemon cannot be spoken to any more, and why.
	HomeLost(node uint32, why error)
}

// Dial connects to the daemon of another node, and says hello. The context ends the attempt.
type Dial func(ctx context.Context, node uint32, h wire.Hello) (net.Conn, *wire.HelloReply, error)

// Through returns how the daemons of other nodes are reached: through the socket of the own daemon.
func Through(socket string) Dial {
	return func(ctx context.Context, node uint32, h wire.Hello) (net.Conn, *wire.HelloReply, error) {
		c, r, err := wire.DialGuest(ctx, socket, node, h)
		if err != nil {
			return nil, nil, fmt.Errorf("become a guest of node %d: %w", node, err)
		}
		return c, r, nil
	}
}

// Guests are the connections of one process to the daemons of other nodes.
type Guests struct {
	mu     *sync.Mutex
	host   Host
	dial   Dial
	hello  func() wire.Hello
	told   func(fd int, open bool) // nil: nobody is
	homes  map[uint32]*home        // by number; one that was lost stays for its name. nil: no other node was ever spoken to
	halted bool                    // the process hands its connections over, see Halt
	ctx    context.Context         // ends with the session
	cancel context.CancelFunc
}

// home is another node.
type home struct {
	all   *Guests
	node  uint32
	id    ids.Node // zero until its daemon has answered
	peer  *wire.Peer
	fd    int
	waits []message       // what is to be said when the connection is open
	knows map[string]bool // what PushOnce has said
	lost  bool
	why   string        // its daemon has said that it ends, and why
	timer *time.Timer   // tells soon that the connection could not be opened
	way   time.Duration // how long a message there and its answer take; 0: not known
	state *wire.State   // of a connection that Halt has stopped
}

// message waits for a connection.
type message struct {
	t    wire.Type
	body any
}

// New returns the guests of a process that is not a guest anywhere yet. Hello introduces the process; descriptor
// is told of a descriptor that a forked child must close, and before one is closed.
func New(mu *sync.Mutex, host Host, dial Dial, hello func() wire.Hello, descriptor func(fd int, open bool)) *Guests {
	g := &Guests{mu: mu, host: host, dial: dial, hello: hello, told: descriptor}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Push tells the daemon of a node. The process becomes a guest there if it is none.
func (g *Guests) Push(node uint32, t wire.Type, body any) {
	h := g.homes[node]
	if h == nil || h.lost {
		if g.ctx.Err() != nil {
			return
		}
		h = g.open(node, h)
	}
	h.push(t, body)
}

// PushOnce is Push for what the daemon of a node needs to hear once on a connection, under a name.
func (g *Guests) PushOnce(node uint32, name string, t wire.Type, body any) {
	if h := g.homes[node]; h != nil && !h.lost && h.knows[name] {
		return
	}
	g.Push(node, t, body)
	if h := g.homes[node]; h != nil && !h.lost {
		if h.knows == nil {
			h.knows = map[string]bool{}
		}
		h.knows[name] = true
	}
}

// Tell tells the daemon of a node that the process is a guest of, and reports whether it is or was one.
// What would be said to a node that was lost is of no use to anybody.
func (g *Guests) Tell(node uint32, t wire.Type, body any) bool {
	h := g.homes[node]
	if h == nil {
		return false
	}
	h.push(t, body)
	return true
}

// TellAll tells the daemons of all nodes that the process is a guest of.
func (g *Guests) TellAll(t wire.Type, body any) {
	for _, h := range g.homes {
		h.push(t, body)
	}
}

// Any reports whether the process is or was a guest anywhere.
func (g *Guests) Any() bool { return g.homes != nil }

// Current reports whether a message came on the connection that the process now has to a node.
func (g *Guests) Current(node uint32, m *wire.Message) bool {
	h := g.homes[node]
	return h != nil && !h.lost && h.peer == m.Peer()
}

// Ends notes that the daemon of a node has said that it ends, and why. The end of its connection follows.
func (g *Guests) Ends(node uint32, why string) {
	if h := g.homes[node]; h != nil {
		h.why = why
	}
}

// Name returns the id of a node that the process is or was a guest of, for people.
func (g *Guests) Name(node uint32) string {
	if h := g.homes[node]; h != nil && h.id != (ids.Node{}) {
		return h.id.String()
	}
	return fmt.Sprintf("number %d", node)
}

// Len is how many nodes the process is a guest of.
func (g *Guests) Len() (n int) {
	for _, h := range g.homes {
		if !h.lost {
			n++
		}
	}
	return n
}

// Close ends all connections, and those that are being opened as soon as they are. Nothing of that is told to the host.
func (g *Guests) Close() {
	g.cancel()
	for _, h := range g.homes {
		if h.timer != nil {
			h.timer.Stop()
		}
		if p := h.peer; p != nil {
			h.unset()
			go p.Close() // it takes the mutex
		}
		h.lost = true
	}
}

// open begins to open the connection to a node. Was is what is known of a connection that was lost.
func (g *Guests) open(node uint32, was *home) *home {
	h := g.add(node)
	if was != nil {
		h.id = was.id
	}
	go h.join(g.hello())
	return h
}

// add notes a new connection to a node.
func (g *Guests) add(node uint32) *home {
	if g.homes == nil {
		g.homes = map[uint32]*home{}
	}
	h := &home{all: g, node: node, fd: -1}
	g.homes[node] = h
	return h
}

// join opens the connection.
func (h *home) join(hello wire.Hello) {
	g, begun := h.all, time.Now()
	c, r, err := g.dial(g.ctx, h.node, hello)
	took := time.Since(begun)
	if err == nil && len(r.NodeID) != len(h.id) {
		c.Close()
		err = fmt.Errorf("the daemon of node %d names its node with %d bytes", h.node, len(r.NodeID))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ctx.Err() != nil:
		if err == nil {
			c.Close()
		}
	case err != nil:
		h.timer = time.AfterFunc(dialPause, func() { h.end(err) })
	default:
		copy(h.id[:], r.NodeID)
		h.way = min(took, longestWay)
		h.welcomed(c)
	}
}

// welcomed takes the connection, and says what waits.
func (h *home) welcomed(c net.Conn) {
	h.set(c, wire.State{})
	h.peer.Start()
	h.measure()
	for _, m := range h.waits {
		_ = h.peer.Push(m.t, m.body) // its end is told
	}
	h.waits = nil
}

// set takes an open connection, of which the state says how far it has got.
func (h *home) set(c net.Conn, s wire.State) {
	h.peer = wire.Resume(c, s, func(m *wire.Message) { h.all.host.Heard(h.node, m) }, h.end)
	if h.fd = transport.Descriptor(c); h.fd >= 0 && h.all.told != nil {
		h.all.told(h.fd, true)
	}
}

// push says something now, or when the connection is open, or leaves it to the process that goes on with the connection.
func (h *home) push(t wire.Type, body any) {
	switch {
	case h.lost:
	case h.peer == nil, h.all.halted:
		h.waits = append(h.waits, message{t, body})
	default:
		_ = h.peer.Push(t, body) // its end is told
	}
}

// end notes that there is no connection any more, and tells the host. It is called without the mutex.
func (h *home) end(why error) {
	g := h.all
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.lost {
		return
	}
	h.lost, h.waits = true, nil
	h.unset()
	if h.why != "" {
		why = errors.New(h.why)
	}
	g.host.HomeLost(h.node, why)
}

// unset forgets the connection.
func (h *home) unset() {
	h.peer = nil
	if h.fd >= 0 && h.all.told != nil {
		h.all.told(h.fd, false)
	}
	h.fd = -1
}
