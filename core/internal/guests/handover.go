package guests

import (
	"net"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A process that ends hands its connections over to its successor, which goes on with them. The daemons of the
// other nodes do not notice. First Halt stops the connections; what is said from then on waits. Then Detach returns them.

// Opening reports whether a connection is being opened. It cannot be handed over.
func (g *Guests) Opening() bool {
	for _, h := range g.homes {
		if !h.lost && h.peer == nil {
			return true
		}
	}
	return false
}

// Halt stops all connections, without closing them. What a daemon has said is handled completely, or not at all. Connections
// that are being opened end, and no new one is opened. The mutex is released meanwhile.
func (g *Guests) Halt() {
	if g.halted {
		return
	}
	g.halted = true
	g.cancel()
	for _, node := range g.nodes() {
		h := g.homes[node]
		switch p := h.peer; {
		case h.lost:
		case p == nil:
			h.lost, h.waits = true, nil
			if h.timer != nil {
				h.timer.Stop()
			}
		default:
			if s, ok := g.detach(p); ok { // else its end is being told
				h.state = &s
			}
		}
	}
}

// detach stops one connection. The mutex, which its handler takes, is released meanwhile.
func (g *Guests) detach(p *wire.Peer) (wire.State, bool) {
	g.mu.Unlock()
	defer g.mu.Lock()
	return p.Detach()
}

// nodes returns the numbers of the nodes, in their order.
func (g *Guests) nodes() (list []uint32) {
	for node := range g.homes {
		list = append(list, node)
	}
	slices.Sort(list)
	return list
}

// Detached is a connection to the daemon of a node that was stopped, for another process to go on with.
type Detached struct {
	Node      uint32
	ID        ids.Node
	RoundTrip time.Duration
	State     wire.State
	Conn      net.Conn
}

// Detach returns the connections that Halt has stopped, in the order of their nodes' numbers. What was said
// since then is still to be sent. Nothing may be said any more.
func (g *Guests) Detach() (list []Detached) {
	for _, node := range g.nodes() {
		h := g.homes[node]
		if h.lost || h.state == nil {
			continue
		}
		s := *h.state
		var err error
		for _, m := range h.waits {
			if s.Unsent, err = wire.AppendMessage(s.Unsent, wire.Push, m.t, 0, 0, m.body); err != nil {
				break
			}
		}
		if err != nil { // what cannot be said is missed there: the connection ends with this process
			continue
		}
		list = append(list, Detached{Node: node, ID: h.id, RoundTrip: h.way, State: s, Conn: h.peer.Conn()})
	}
	return list
}

// Resume takes over a connection that another process has detached. It is not started yet: see Start.
func (g *Guests) Resume(c net.Conn, node uint32, id ids.Node, way time.Duration, s wire.State) {
	h := g.add(node)
	h.id, h.way = id, way
	h.set(c, s)
}

// Start starts the connections that were resumed.
func (g *Guests) Start() {
	for _, h := range g.homes {
		h.peer.Start()
	}
}

// At reports whether the process is a guest of a node, or is about to become one.
func (g *Guests) At(node uint32) bool {
	h := g.homes[node]
	return h != nil && !h.lost
}

// CloseConnections closes the sockets of all connections, as the end of the process would. No handler is called.
func (g *Guests) CloseConnections() {
	for _, h := range g.homes {
		if h.peer != nil {
			_ = h.peer.Conn().Close()
		}
	}
}
