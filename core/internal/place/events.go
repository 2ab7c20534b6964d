package place

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// NodeUp says that a node has connected. What it wanted before is forgotten: it says everything again. It is
// offered nothing until it has reported. While a node has never reported, no want is infeasible.
func (m *Machine) NodeUp(id Node) {
	n := m.nodes[id]
	if n == nil {
		n = &node{id: id, slot: m.freeSlot(), paused: make(map[*need]time.Duration)}
		m.nodes[id], m.slots[n.slot] = n, n
		m.labelled++
		m.unheard++
	}
	m.silence(n)
	n.up = true
}

// NodeSilent says that a node is not connected any more. It may come back, so its offers stay until they expire.
func (m *Machine) NodeSilent(id Node) {
	if n := m.nodes[id]; n != nil {
		m.silence(n)
		m.groupsLose(id)
		m.decide()
	}
}

// Suspect says whether a node may be gone although its connection has not ended: it is unreachable, or its death is being committed. It
// gets no offers then, and what it wants stays.
func (m *Machine) Suspect(id Node, suspected bool) {
	n := m.nodes[id]
	if n == nil || n.suspected == suspected {
		return
	}
	n.suspected = suspected
	if suspected {
		for _, d := range m.list {
			d.remove(n)
		}
		m.groupsLose(id)
		m.decide()
		return
	}
	m.grown(n)
	m.decide()
}

// NodeGone says that a node is dead. All that is known of it is forgotten. An earlier process of the head may have told the node to
// start actors, and this one may never have heard of it.
func (m *Machine) NodeGone(id Node) {
	for _, a := range slices.Clone(m.ordered) { // who places actors knows that the node is dead
		if a.at == id {
			m.forget(a)
		}
	}
	n := m.nodes[id]
	if n == nil {
		return
	}
	m.silence(n)
	for _, t := range slices.Clone(n.tickets) {
		m.close(t)
	}
	m.pauses = slices.DeleteFunc(m.pauses, func(p pause) bool { return p.node == n })
	delete(m.nodes, id)
	delete(m.named, n.name)
	m.groupsLose(id)
	m.grew = true // what has waited for this node alone may go elsewhere
	m.slots[n.slot] = nil
	if n.ledger == nil {
		m.unheard--
	}
	m.shape++
	m.decide()
}

// keptDeaths is of how many nodes the machine knows that they have died.
const keptDeaths = 1000

// Died says that the node with this id is dead. It never comes back: a machine that returns is a node with another id. So what must run there
// is infeasible at once, also while other nodes are awaited, and what should run there may run elsewhere.
func (m *Machine) Died(id ids.Node, number Node) {
	if m.dead[id] {
		return
	}
	m.dead[id], m.deadAt[number] = true, true
	if m.deaths = append(m.deaths, death{id, number}); len(m.deaths) > keptDeaths {
		delete(m.dead, m.deaths[0].id)
		delete(m.deadAt, m.deaths[0].number)
		m.deaths = m.deaths[1:]
	}
	for _, w := range m.wants {
		if w.level > 0 && mustRunOn(w.strategy) && w.strategy.Node == id {
			m.doomed = append(m.doomed, w)
		}
	}
	slices.SortFunc(m.doomed, func(a, b *want) int { return cmp.Compare(a.since, b.since) })
	for _, a := range m.homeless {
		if mustRunOn(a.Strategy) && a.Strategy.Node == id {
			m.doomedA = append(m.doomedA, a)
		}
	}
	m.grew = true // what has waited for this node alone may go elsewhere
	m.decide()
}

// silence ends a node's connection, and what the node wants.
func (m *Machine) silence(n *node) {
	n.up, n.reported = false, false
	for _, d := range m.list {
		d.remove(n)
		d.wait = slices.DeleteFunc(d.wait, func(w *want) bool { return w.key.Node == n.id })
	}
	var own []*want
	for k, w := range m.wants {
		if k.Node == n.id {
			own = append(own, w)
		}
	}
	slices.SortFunc(own, func(a, b *want) int { return cmp.Compare(a.since, b.since) }) // what is unused keeps an order
	for _, w := range own {
		w.level = 0 // it is in no list of waiting ones any more
		m.drop(w)
	}
}

// freeSlot returns a slot without a node.
func (m *Machine) freeSlot() int {
	if i := slices.Index(m.slots, nil); i >= 0 {
		return i
	}
	m.slots = append(m.slots, nil)
	for _, d := range m.list {
		d.in = append(d.in, false)
	}
	return len(m.slots) - 1
}

// Report says what a node has, and what of that is free. The error says what is wrong with a stock that no node can have.
func (m *Machine) Report(id Node, s resource.Stock) error {
	if err := m.report(id, s); err != nil {
		return err
	}
	m.decide()
	return nil
}

// report is Report without the decisions that follow.
func (m *Machine) report(id Node, s resource.Stock) error {
	n := m.nodes[id]
	if n == nil || !n.up {
		return nil // it has gone meanwhile
	}
	l, err := resource.Restore(s)
	if err != nil {
		return fmt.Errorf("the stock of node %d: %w", id, err)
	}
	if n.ledger == nil {
		m.unheard--
	}
	if totals := l.Plain(); n.ledger == nil || !totals.Equal(n.totals) {
		n.totals = totals
		m.shape++
	}
	n.reported, n.ledger, n.devices = true, l, l.HasDevices()
	for _, t := range n.tickets {
		t.holds = nil // they were those of the ledger before
	}
	n.debitAll()
	m.grown(n)
	return nil
}

// Label says which labels a node has, that by which all nodes have their ids included. The machine must know the node.
func (m *Machine) Label(id Node, all map[string]string) {
	n := m.nodes[id]
	if n == nil || n.labels != nil && maps.Equal(n.labels, all) {
		return
	}
	n.labels = maps.Clone(all)
	m.labelled++
	m.shape++
	m.grew = true
	m.decide()
}

// Relabelled says that nodes may have other labels than before, or that these are known now.
func (m *Machine) Relabelled() {
	m.grew, m.judgeGroups = true, true
	m.decide()
}

// Await holds back the news that wants are infeasible, while nodes are alive of which nothing was heard yet.
func (m *Machine) Await(wait bool) {
	m.waits, m.grew = wait, true
	m.decide()
}

// Want says how many leases of a class have no room on their own node. The sender must be up. The error says that
// the node wants too much.
func (m *Machine) Want(k Key, q Want) error {
	n := m.nodes[k.Node]
	if n == nil || !n.up {
		return nil // it has gone meanwhile
	}
	w := m.wants[k]
	offered := q.Offered
	if w != nil && (w.strategy != q.Strategy || !w.sameNeeds(q.Needs)) {
		offered = max(offered, w.offered)
		m.drop(w)
		w = nil
	}
	if w == nil {
		if q.N <= 0 {
			return nil
		}
		if n.wants >= MaxWants {
			return fmt.Errorf("the processes of node %d want leases of more than %d classes: class %s is not looked after", k.Node, MaxWants, k)
		}
		n.wants++
		w = m.add(k, &q)
	}
	w.offered = max(w.offered, offered)
	w.home, w.near = q.Home, q.Near
	crossed := w.offered - q.Offered
	m.setLevel(w, less(q.N, crossed), less(min(q.Due, q.N), crossed))
	if q.N <= 0 && crossed == 0 {
		m.drop(w)
	}
	m.decide()
	return nil
}

// less returns n - by, at least 0.
func less(n int, by uint64) int {
	if by >= uint64(max(n, 0)) {
		return 0
	}
	return n - int(by)
}

// Settled says that an offer has been answered. From the node whose leases were offered: it has granted so many of
// them, and has that stock now. From the node of the process: the process does not use the offer, and stock is nil.
func (m *Machine) Settled(from Node, id Ticket, took int, s *resource.Stock) error {
	if a := m.orders[id]; a != nil && a.at == from && took > 0 {
		m.forget(a)
	}
	t := m.tickets[id]
	switch {
	case t == nil || t.node.id != from && t.to.Node != from:
	case t.node.id == from:
		m.close(t)
		if took < t.n && s != nil && t.need != nil {
			m.pause(t.node, t.need)
		}
		if w := m.wants[t.to]; w != nil && w.given != nil {
			w.given[from] = max(0, w.given[from]-max(0, t.n-took))
		}
	default:
		m.close(t)
	}
	if s != nil {
		if err := m.report(from, *s); err != nil {
			return err
		}
	}
	m.decide()
	return nil
}

// Advance tells the time since the machine's start.
func (m *Machine) Advance(now time.Duration) {
	m.now = max(m.now, now)
	for len(m.expiring) > 0 && (m.expiring[0].closed || m.expiring[0].ends <= m.now) {
		t := m.expiring[0]
		m.expiring = m.expiring[1:]
		m.close(t)
	}
	if m.lookAt > 0 && m.lookAt <= m.now {
		m.lookAt, m.grew = 0, true
	}
	m.busyEnds()
	if m.groupsAt > 0 && m.groupsAt <= m.now {
		m.tryGroups()
	}
	for len(m.pauses) > 0 && m.pauses[0].ends <= m.now {
		p := m.pauses[0]
		m.pauses = m.pauses[1:]
		if p.node.paused[p.need] == p.ends {
			delete(p.node.paused, p.need)
			m.consider(p.need, p.node)
			m.grew = true // actors may wait there again
		}
	}
	m.decide()
}

// Next returns when Advance must be called at the latest, false when only events can change anything.
func (m *Machine) Next() (at time.Duration, ok bool) {
	for len(m.expiring) > 0 && m.expiring[0].closed {
		m.expiring = m.expiring[1:]
	}
	if len(m.expiring) > 0 {
		at, ok = m.expiring[0].ends, true
	}
	if len(m.pauses) > 0 && (!ok || m.pauses[0].ends < at) {
		at, ok = m.pauses[0].ends, true
	}
	if m.lookAt > 0 && (!ok || m.lookAt < at) {
		at, ok = m.lookAt, true
	}
	for _, t := range []time.Duration{m.recallAt, m.groupsAt, m.groupRecallAt, m.busyAt} {
		if t > 0 && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// Nodes returns the numbers of the nodes that are known, in order.
func (m *Machine) Nodes() []Node { return slices.Sorted(maps.Keys(m.nodes)) }
