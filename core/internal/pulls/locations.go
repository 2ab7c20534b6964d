package pulls

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/dir"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Locate answers a process that asks which nodes have objects. An object that nobody has, or whose owner's node is gone, has no nodes.
// The lock is held.
func (p *Pulls) Locate(m *wire.Message) error {
	var q wire.ObjRefs
	if err := m.Decode(&q); err != nil {
		return err
	}
	found := make(map[ids.Object]linkmsg.ObjectHolders, len(q.ObjectIDs))
	list := make([]ids.Object, len(q.ObjectIDs))
	there := make(map[uint32][]linkmsg.ObjectVersion)
	for i, raw := range q.ObjectIDs {
		id, err := ids.ParseObject(raw)
		if err != nil {
			return fault.New(fault.BadRequest, "%s: %v", m.Type, err)
		}
		if list[i] = id; p.here(id) || p.o.Network == nil {
			found[id] = p.holders(id)
		} else {
			there[id.Owner().Node()] = append(there[id.Owner().Node()], linkmsg.ObjectVersion{ID: id})
		}
	}
	p.askAll(linkmsg.ObjectHeld, there, func(v linkmsg.ObjectVersion, i int, a *linkmsg.ObjectAnswer) {
		if i < len(a.Held) {
			found[v.ID] = a.Held[i]
		}
	}, func() { _ = m.Reply(p.located(list, found)) })
	return nil
}

// holders returns which nodes have an object of a process of this node. If none has it whole, as far as is known, it is the one that writes it: who
// has heard that the object is ready may ask before the news that it is whole have come.
func (p *Pulls) holders(id ids.Object) (h linkmsg.ObjectHolders) {
	nodes, size := p.dir.Holders(id)
	at, has := p.o.Store.Find(id)
	h.Spilled = has && at.Where == "spilled"
	switch maker, known := p.dir.Holder(id); {
	case len(nodes) > 0:
	case known:
		nodes, h.Making = []dir.Node{maker}, true
	case has && !p.dir.Knows(id):
		nodes, size, h.Making = []dir.Node{dir.Node(p.o.Node)}, at.Size, at.Where == "creating"
	}
	h.Nodes, h.Size = numbers(nodes), size
	return h
}

// located is the answer to a process. It names nodes by their ids.
func (p *Pulls) located(list []ids.Object, found map[ids.Object]linkmsg.ObjectHolders) (a wire.ObjLocations) {
	for _, id := range list {
		h := found[id]
		x := wire.ObjLocation{Size: h.Size, Spilled: h.Spilled, Making: h.Making}
		for _, n := range h.Nodes {
			if n == p.o.Node {
				x.Nodes = append(x.Nodes, p.o.ID[:])
			} else if r, known := p.nodeOf(n); known {
				x.Nodes = append(x.Nodes, r.ID[:])
			}
		}
		a.List = append(a.List, x)
	}
	return a
}
