package pulls

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/dir"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// A session with another node may end although the node lives: when nothing has come through for a minute. Each of the two nodes
// then takes the other one for dead, and gives up what it has of the other one's objects. When they
// find each other again, a new session begins with nothing, and what is left of the old one does not count.

// Connected says that a session with a node has begun, whose messages come on this connection.
func (p *Pulls) Connected(node uint32, control *wire.Peer) {
	p.locked(func() {
		p.control[node] = control
		p.dir.NodeBack(dir.Node(node))
	})
}

// late reports whether a message belongs to a session that has ended. The lock is held.
func (p *Pulls) late(from uint32, m *wire.Message) bool {
	control, known := p.control[from]
	return known && control != m.Peer() || p.dir.Dead(dir.Node(from))
}

// NodeGone says that a node is dead, or that the session with it is lost. What its processes owned is freed. What was being read from
// it is read from another node.
func (p *Pulls) NodeGone(node uint32) {
	p.conns.drop(node)
	p.locked(func() {
		if p.control[node] != nil {
			p.control[node] = nil
		}
		for ask, q := range p.asks {
			if q.from == node {
				delete(p.asks, ask)
			}
		}
		p.dir.NodeGone(dir.Node(node))
		stopped := p.endPullsOf(node)
		gone := p.freeAllOf(node)
		p.flush()
		// What was said in the new session already, before this node had heard of the end of the old one, is taken back.
		p.tellAll(node, linkmsg.ObjectStop, stopped)
		p.tellAll(node, linkmsg.ObjectGone, gone)
	})
}

// endPullsOf ends the pulls of objects whose owners are on a node, and has those go on elsewhere that read from the node. It returns
// the objects of those that have ended.
func (p *Pulls) endPullsOf(node uint32) (list []linkmsg.ObjectVersion) {
	var ends []*pull
	for _, x := range p.pulls {
		if x.id.Owner().Node() == node {
			ends = append(ends, x)
			list = append(list, linkmsg.ObjectVersion{ID: x.id})
		}
		x.cut(node)
	}
	for _, x := range ends {
		x.placed = false
		x.end(p.ownerGone(x.id))
	}
	return list
}

// freeAllOf frees what this node has of objects whose owners are on another node, and returns which versions those were.
func (p *Pulls) freeAllOf(node uint32) (list []linkmsg.ObjectVersion) {
	for id, h := range p.held {
		if id.Owner().Node() == node {
			list = append(list, linkmsg.ObjectVersion{ID: id, Version: h.version})
			p.free(id, 0)
		}
	}
	return list
}

// tellAll is tell for any number of objects.
func (p *Pulls) tellAll(node uint32, what linkmsg.ObjectEvent, list []linkmsg.ObjectVersion) {
	for part := range slices.Chunk(list, linkmsg.MaxObjects) {
		p.tell(node, what, part...)
	}
}

// ownerGone is what a process hears that wants an object of a node that is gone.
func (p *Pulls) ownerGone(id ids.Object) error {
	return fault.New(fault.OwnerDied, "object %s is lost: %s, on which its owner ran, is dead or cannot be reached", id, p.nodeName(id.Owner().Node()))
}

// nodeOf returns what is known of another node.
func (p *Pulls) nodeOf(node uint32) (record.Node, bool) {
	if p.o.NodeOf == nil {
		return record.Node{}, false
	}
	return p.o.NodeOf(node)
}

// nodeName returns the name of a node for people.
func (p *Pulls) nodeName(node uint32) string {
	if n, known := p.nodeOf(node); known {
		return fmt.Sprintf("node %s (%s)", n.ID, n.Address)
	}
	return fmt.Sprintf("the node with number %d", node)
}
