package relay

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
)

// How many connections the head carries at a time.
const (
	MostOfNode     = 64  // for sessions of one node
	MostBulkOfNode = 8   // for much data, of one node
	Most           = 256 // for sessions of all nodes
	MostBulk       = 32  // for much data, of all nodes
)

const copySize = 16 << 10

// Relay is the head's side.
type Relay struct {
	open  func(node uint32, target []byte) (net.Conn, error)
	alive func(node uint32) error
	log   *slog.Logger

	mu     sync.Mutex
	counts map[use]int // of the connections that are open
}

// use is what a connection counts for; node 0: for all nodes.
type use struct {
	node uint32
	bulk bool
}

// New returns one without connections. Open opens a stream to a node, and alive says why a node is not to be reached, nil if it is.
func New(open func(node uint32, target []byte) (net.Conn, error), alive func(node uint32) error, log *slog.Logger) *Relay {
	return &Relay{open: open, alive: alive, log: log, counts: map[use]int{}}
}

// Serve takes a stream that a node has opened, with the target that it was opened with, until one of the ends is closed. It closes the stream.
func (r *Relay) Serve(from uint32, s net.Conn, target []byte) {
	defer s.Close()
	to, bulk, ok := ParseTarget(target)
	if !ok {
		r.log.Warn("a node has opened a stream to the head that is for nothing", "node", from, "bytes", len(target))
		return
	}
	other, err := r.connect(from, to, bulk)
	if err != nil {
		r.log.Warn("a connection between two nodes is not carried", "from", from, "to", to, "why", err)
		_, _ = s.Write(answer(refused, err.Error()))
		return
	}
	defer r.leave(from, to, bulk)
	defer other.Close()
	if _, err := s.Write(answer(opened, "")); err != nil {
		return
	}
	r.log.Debug("a connection between two nodes is carried", "from", from, "to", to, "bulk", bulk)
	carry(s, other)
}

// connect takes places for a connection and opens its other end.
func (r *Relay) connect(from, to uint32, bulk bool) (net.Conn, error) {
	if to == from {
		return nil, fmt.Errorf("node %d has asked for a connection with node %d: another node of the cluster must be named", from, to)
	}
	if err := r.alive(to); err != nil {
		return nil, err
	}
	if err := r.enter(from, to, bulk); err != nil {
		return nil, err
	}
	c, err := r.open(to, Target(from, bulk))
	if err != nil {
		r.leave(from, to, bulk)
		return nil, err
	}
	return c, nil
}

// enter takes a place of both nodes and one of all.
func (r *Relay) enter(from, to uint32, bulk bool) error {
	most, mostOfNode, what := Most, MostOfNode, "connections"
	if bulk {
		most, mostOfNode, what = MostBulk, MostBulkOfNode, "connections for much data"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, node := range []uint32{from, to} {
		if r.counts[use{node, bulk}] >= mostOfNode {
			return fmt.Errorf("the head carries %d %s of node %d already, which is the most: look at the network between the nodes", mostOfNode, what, node)
		}
	}
	if r.counts[use{0, bulk}] >= most {
		return fmt.Errorf("the head carries %d %s between nodes already, which is the most: look at the network between the nodes", most, what)
	}
	for _, node := range []uint32{from, to, 0} {
		r.counts[use{node, bulk}]++
	}
	return nil
}

func (r *Relay) leave(from, to uint32, bulk bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, node := range []uint32{from, to, 0} {
		u := use{node, bulk}
		if r.counts[u]--; r.counts[u] == 0 {
			delete(r.counts, u)
		}
	}
}

// carry copies in both directions until one of the ends is closed, and closes the other one: what came before still arrives there.
func carry(a, b net.Conn) {
	var other sync.WaitGroup
	other.Go(func() { carryOne(b, a) })
	carryOne(a, b)
	other.Wait()
}

func carryOne(to, from net.Conn) {
	defer from.Close()
	defer to.Close()
	_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, copySize))
}
