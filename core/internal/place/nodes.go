package place

import "slices"

// This file has what changes in a node.

// grown notes that a node may have more free than before.
func (m *Machine) grown(n *node) {
	if n.ledger == nil {
		return
	}
	n.load = n.ledger.Load()
	m.grew = true
	for _, d := range m.list {
		m.consider(d, n)
	}
}

// consider puts a node into the list of those that may have a need free, if it has.
func (m *Machine) consider(d *need, n *node) {
	if d.in[n.slot] || !d.talks(n) || !n.takes() || !n.fits(d) {
		return
	}
	d.in[n.slot] = true
	d.open = append(d.open, n)
	m.grew = true
}

// fits reports whether the node has a need free, and has not just refused it.
func (n *node) fits(d *need) bool {
	if len(n.paused) > 0 {
		if _, waits := n.paused[d]; waits {
			return false
		}
	}
	return n.ledger.Fits(d.set)
}

// remove takes a node out of the list of those that may have the need free.
func (d *need) remove(n *node) {
	if d.in[n.slot] {
		d.in[n.slot] = false
		i := slices.Index(d.open, n)
		d.open[i] = d.open[len(d.open)-1]
		d.open = d.open[:len(d.open)-1]
	}
}

// pause has a node not be offered for a need for a moment.
func (m *Machine) pause(n *node, d *need) {
	ends := m.now + m.o.RefusedPause
	n.paused[d] = ends
	d.remove(n)
	m.pauses = append(m.pauses, pause{n, d, ends})
}

// debit takes one lease of an offer out of what its node has free.
func (t *ticket) debit() bool {
	a, ok := t.node.ledger.Acquire(t.need.set)
	if ok {
		t.holds = append(t.holds, a)
		t.n++
		t.node.load = t.node.ledger.Load()
	}
	return ok
}

// close ends a ticket and its debit, once.
func (m *Machine) close(t *ticket) {
	if t.closed {
		return
	}
	t.closed = true
	delete(m.tickets, t.id)
	if a := t.actor; a != nil {
		if a.debit == t { // if the node has not begun to start the actor, the actor waits there
			a.debit = nil
		} else if a.next == t {
			a.next, a.moves, a.since = nil, false, m.now
			m.look(a)
		}
	}
	n := t.node
	n.tickets = slices.DeleteFunc(n.tickets, func(o *ticket) bool { return o == t })
	t.undebit()
	if n.short { // what is free now belongs to earlier offers first
		for _, o := range n.tickets {
			o.undebit()
		}
		n.debitAll()
	}
	if t.need != nil {
		m.release(t.need)
	}
	m.grown(n)
}

// undebit gives back what a ticket holds.
func (t *ticket) undebit() {
	for _, a := range t.holds {
		t.node.ledger.Release(a)
	}
	t.holds = nil
}

// debitAll takes what the node's tickets offer out of a ledger from which nothing is taken for them. When the node
// has less free than was offered, the latest offers go short: the node will refuse something.
func (n *node) debitAll() {
	n.short = false
	for _, t := range n.tickets {
		if t.group != nil {
			n.short = !t.debitSets() || n.short
			continue
		}
		for range t.n {
			a, ok := n.ledger.Acquire(t.need.set)
			if !ok {
				n.short = true
				break
			}
			t.holds = append(t.holds, a)
		}
	}
}
