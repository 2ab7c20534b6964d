package peers

import (
	"fmt"
	"net"
	"sync"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Handle takes a message that has come from a node.
type Handle func(from uint32, m *wire.Message)

// way is a connection as one of its two nodes sees it.
type way struct{ from, to uint32 }

// Network connects nodes when they want it. The zero value has no nodes.
type Network struct {
	mu    sync.Mutex
	nodes map[uint32]Handle
	open  map[way]*wire.Peer
}

// Add adds a node, which handles messages with that function.
func (n *Network) Add(number uint32, h Handle) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nodes == nil {
		n.nodes, n.open = make(map[uint32]Handle), make(map[way]*wire.Peer)
	}
	n.nodes[number] = h
}

// Remove makes a node one that cannot be reached. Its connections break.
func (n *Network) Remove(number uint32) {
	n.Cut(number)
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.nodes, number)
}

// Control returns the connection of one node with another one.
func (n *Network) Control(from, to uint32) (*wire.Peer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	here, there := n.nodes[from], n.nodes[to]
	if here == nil || there == nil {
		return nil, fmt.Errorf("node %d is dead", to)
	}
	if p := n.open[way{from, to}]; p != nil {
		return p, nil
	}
	a, b := net.Pipe()
	p := wire.NewPeer(a, func(m *wire.Message) { here(to, m) }, nil)
	q := wire.NewPeer(b, func(m *wire.Message) { there(from, m) }, nil)
	n.open[way{from, to}], n.open[way{to, from}] = p, q
	p.Start()
	q.Start()
	return p, nil
}

// Cut breaks the connections of a node. A node that wants one afterwards gets a new one.
func (n *Network) Cut(number uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for w, p := range n.open {
		if w.from == number || w.to == number {
			go p.Close()
			delete(n.open, w)
		}
	}
}
