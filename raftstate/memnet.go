package raftstate

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
)

// MemoryNet connects members in one process, for tests and simulations: a
// transport and a forwarder for each, and cables that can be cut.
type MemoryNet struct {
	members []string
	mu      sync.Mutex
	ports   map[string]*port // of the members that were opened
}

// port is one member's end of the net.
type port struct {
	net       *MemoryNet
	transport *raft.InmemTransport
	node      *Node // nil until it is open
	cut       bool
}

// NewMemoryNet returns a net for members with these ids, which are their
// addresses too.
func NewMemoryNet(members ...string) *MemoryNet {
	return &MemoryNet{members: slices.Sorted(slices.Values(members)), ports: map[string]*port{}}
}

// locked calls f with the net's lock held.
func (m *MemoryNet) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// Open opens a member of the net, or opens it again after Close, with all
// members as voters.
func (m *MemoryNet) Open(id string, o Options) (*Node, error) {
	for _, member := range m.members {
		o.Voters = append(o.Voters, Voter{ID: member, Address: member})
	}
	return m.Join(id, o)
}

// Join opens a member that the others do not know yet, or opens it again after Close.
func (m *MemoryNet) Join(id string, o Options) (*Node, error) {
	_, transport := raft.NewInmemTransport(raft.ServerAddress(id))
	p := &port{net: m, transport: transport}
	m.locked(func() {
		m.ports[id] = p
		m.connect()
	})

	o.ID, o.Transport, o.Forwarder = id, transport, p
	n, err := Open(o)
	if err != nil {
		return nil, err
	}
	m.locked(func() { p.node = n })
	return n, nil
}

// Cut takes a member off the net, or puts it back.
func (m *MemoryNet) Cut(id string, cut bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ports[id].cut = cut
	m.connect()
}

// connect makes the transports' routes agree with the cuts; the lock is held.
func (m *MemoryNet) connect() {
	for _, a := range m.ports {
		for id, b := range m.ports {
			a.transport.Disconnect(raft.ServerAddress(id)) // pipelines to an earlier transport too
			if !a.cut && !b.cut {
				a.transport.Connect(raft.ServerAddress(id), b.transport)
			}
		}
	}
}

// Forward implements Forwarder.
func (p *port) Forward(ctx context.Context, id, _ string, command []byte) ([]byte, error) {
	var target *port
	reachable := false
	p.net.locked(func() {
		target = p.net.ports[id]
		reachable = target != nil && target.node != nil && !target.cut && !p.cut
	})
	if !reachable {
		return nil, fmt.Errorf("member %s cannot be reached", id)
	}
	return target.node.Forwarded(ctx, command)
}
