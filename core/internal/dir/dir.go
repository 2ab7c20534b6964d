package dir

import (
	"bytes"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
)

// Node is the number of a node.
type Node uint32

// Version names one time that an object was written. It is never 0.
type Version uint64

// Dir is a directory of objects. See doc.go.
type Dir struct {
	entries map[ids.Object]*entry
	owned   map[ids.Owner]map[ids.Object]*entry
	dead    map[Node]bool
	lost    lostObjects
	actions []Action
}

// New returns an empty directory.
func New() *Dir {
	return &Dir{entries: make(map[ids.Object]*entry), owned: make(map[ids.Owner]map[ids.Object]*entry), dead: make(map[Node]bool)}
}

// Len returns how many objects have an entry.
func (d *Dir) Len() int { return len(d.entries) }

// Knows reports whether the object has an entry: somebody has it, or makes it.
func (d *Dir) Knows(id ids.Object) bool { return d.entries[id] != nil }

// Holder returns the node that has the object in the first place, or makes it; false if none does.
func (d *Dir) Holder(id ids.Object) (Node, bool) {
	e := d.entries[id]
	if e == nil || e.primary == nil {
		return 0, false
	}
	return e.primary.node, true
}

// Empty reports whether the directory knows nothing of any object.
func (d *Dir) Empty() bool { return len(d.entries)+len(d.lost.nodes) == 0 }

// LostWith returns the node with which the last copy of an object was lost, if that is known. Only the latest such objects are known.
func (d *Dir) LostWith(id ids.Object) (n Node, known bool) {
	n, known = d.lost.nodes[id]
	return n, known
}

// Holders returns the nodes that have the whole object, in the order in which they came, and its size. It returns none if
// the object has no entry.
func (d *Dir) Holders(id ids.Object) (nodes []Node, size uint64) {
	e := d.entries[id]
	if e == nil {
		return nil, 0
	}
	for _, m := range e.members {
		if m.whole {
			nodes = append(nodes, m.node)
		}
	}
	return nodes, e.size
}

// Dead reports whether the node is gone.
func (d *Dir) Dead(n Node) bool { return d.dead[n] }

// Actions returns what is to be told since the last call, in this order. The slice is valid until the next event.
func (d *Dir) Actions() []Action {
	list := d.actions
	d.actions = d.actions[:0]
	return list
}

func (d *Dir) tell(a Action) { d.actions = append(d.actions, a) }

// Made says that a node has room for the object and will write it. If there is an entry, the new version takes the place of the one there.
func (d *Dir) Made(id ids.Object, v Version, size uint64, n Node) {
	old := d.entries[id]
	if d.dead[n] || old != nil && old.version == v {
		return
	}
	d.lost.forget(id)
	e := &entry{id: id, version: v, size: size}
	e.primary = e.enter(n)
	e.primary.making = true
	if old != nil {
		d.supersede(old, e)
	}
	d.entries[id] = e
	if d.owned[id.Owner()] == nil {
		d.owned[id.Owner()] = make(map[ids.Object]*entry)
	}
	d.owned[id.Owner()][id] = e
}

// supersede tells the members of an entry that a newer version takes its place. Those that wait go on waiting. The node that
// makes the newer version knows of it.
func (d *Dir) supersede(old, e *entry) {
	for _, m := range old.members {
		if len(m.asks) > 0 {
			e.enter(m.node).asks = m.asks
		}
		if m.node != e.primary.node && (m.making || m.whole || m.from != nil || len(m.asks) == 0) {
			d.tell(Free{m.node, old.id, old.version})
		}
	}
}

// Has says that a node has the whole object.
func (d *Dir) Has(id ids.Object, v Version, n Node) {
	if d.dead[n] {
		return
	}
	e := d.entries[id]
	if e == nil || e.version != v {
		d.tell(Free{n, id, v})
		return
	}
	m := e.enter(n)
	m.detach()
	m.whole, m.avoid = true, nil
	if !e.primary.whole {
		e.primary = m
		if !m.making {
			d.tell(Promote{n, id, v})
		}
	}
	m.making = false
	for _, ask := range m.asks {
		d.tell(At{n, ask, id, v, e.size, []Node{n}, false})
	}
	m.asks = nil
	d.serve(e)
}

// Gone says that a node does not have the object, or will not finish writing it.
func (d *Dir) Gone(id ids.Object, v Version, n Node) {
	if e := d.entries[id]; e != nil && e.version == v {
		d.remove(e, n)
	}
}

// Where asks from which node n can read the object. The answer has the number ask. A node has one question for an object at a time.
func (d *Dir) Where(id ids.Object, n Node, ask uint64) {
	if d.dead[n] {
		return
	}
	if e := d.entries[id]; e != nil {
		if m := e.member(n); m != nil && m.whole { // it knows better
			d.remove(e, n)
		}
	}
	e := d.entries[id]
	if e == nil {
		d.tell(Lost{To: n, Ask: ask, ID: id})
		return
	}
	m := e.enter(n)
	m.detach()
	m.asks = append(m.asks, ask)
	d.serve(e)
}

// Failed says that node n could not read the object from a holder. Absent says that the holder does not have the object.
func (d *Dir) Failed(id ids.Object, v Version, n, holder Node, absent bool) {
	e := d.entries[id]
	if d.dead[n] || e == nil || e.version != v || holder == n {
		return
	}
	if m := e.member(n); m != nil && !m.whole && !m.making {
		m.detach()
		if !slices.Contains(m.avoid, holder) {
			m.avoid = append(m.avoid, holder)
		}
	}
	if h := e.member(holder); absent && h != nil && h.whole {
		d.tell(Free{holder, id, v}) // it may have got the object again meanwhile
		d.remove(e, holder)
		return
	}
	d.serve(e)
}

// Stop says that a node does not pull the object any more. It may ask again.
func (d *Dir) Stop(id ids.Object, n Node) {
	if e := d.entries[id]; e != nil {
		if m := e.member(n); m != nil && !m.whole && !m.making {
			d.remove(e, n)
		}
	}
}

// Drop asks whether a node may drop its replica. With the answer true the node has none any more.
func (d *Dir) Drop(id ids.Object, v Version, n Node) bool {
	e := d.entries[id]
	if e == nil || e.version != v {
		return true
	}
	m := e.member(n)
	if m == e.primary {
		return false
	}
	if m != nil {
		d.remove(e, n)
	}
	return true
}

// Freed says that the owner has freed the object.
func (d *Dir) Freed(id ids.Object) {
	d.lost.forget(id)
	e := d.entries[id]
	if e == nil {
		return
	}
	d.forget(e)
	for _, m := range e.members {
		for _, ask := range m.asks {
			d.tell(Lost{m.node, ask, id, true})
		}
		d.tell(Free{To: m.node, ID: id})
	}
}

// OwnerGone says that a process has ended. What it owns is freed.
func (d *Dir) OwnerGone(o ids.Owner) {
	d.lost.ownerGone(o)
	var list []ids.Object
	for id := range d.owned[o] {
		list = append(list, id)
	}
	for _, id := range sorted(list) {
		d.Freed(id)
	}
}

// NodeGone says that a node is dead, or that the connection with it is lost for good. What it said and is not read yet does
// not count. This looks at every entry.
func (d *Dir) NodeGone(n Node) {
	d.dead[n] = true
	var list []ids.Object
	for id, e := range d.entries {
		if e.member(n) != nil {
			list = append(list, id)
		}
	}
	for _, id := range sorted(list) {
		if d.remove(d.entries[id], n); d.entries[id] == nil {
			d.lost.add(id, n)
		}
	}
}

// NodeBack says that a node that was gone lives after all, and that it has nothing of the objects that it had. What it says from
// now on counts. The caller must not pass on what it said before.
func (d *Dir) NodeBack(n Node) { delete(d.dead, n) }

func sorted(list []ids.Object) []ids.Object {
	slices.SortFunc(list, func(a, b ids.Object) int { return bytes.Compare(a[:], b[:]) })
	return list
}

// remove takes a node's member out of an entry, and has another member take its place if it was the primary. An entry that
// nobody can complete goes.
func (d *Dir) remove(e *entry, n Node) {
	m := e.member(n)
	if m == nil {
		return
	}
	e.leave(m)
	d.lose(e, m)
	if m == e.primary {
		e.primary = e.oldestWhole()
		if e.primary == nil {
			d.forget(e)
			for _, x := range e.members {
				d.lose(e, x)
			}
			return
		}
		d.tell(Promote{e.primary.node, e.id, e.version})
	}
	d.serve(e)
}

// lose answers the questions of a member.
func (d *Dir) lose(e *entry, m *member) {
	for _, ask := range m.asks {
		if !d.dead[m.node] {
			d.tell(Lost{To: m.node, Ask: ask, ID: e.id})
		}
	}
	m.asks = nil
}

// forget takes an entry out of the tables.
func (d *Dir) forget(e *entry) {
	delete(d.entries, e.id)
	own := d.owned[e.id.Owner()]
	if delete(own, e.id); len(own) == 0 {
		delete(d.owned, e.id.Owner())
	}
}

// serve answers those that wait and that a member can serve.
func (d *Dir) serve(e *entry) {
	var placed []*member
	for _, p := range e.members {
		if len(p.asks) == 0 || p.making {
			continue
		}
		h := e.choose(p)
		if h == nil {
			continue
		}
		h.load++
		p.from = h
		placed = append(placed, p)
	}
	for _, p := range placed {
		e.addMore(p)
		for _, ask := range p.asks {
			d.tell(At{p.node, ask, e.id, e.version, e.size, p.holders(), !p.from.whole})
		}
		p.asks = nil
	}
}
