package place

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// A placement group gets nodes for all of its bundles or for none:
//
//  1. The machine chooses the nodes (package packing), debits there what the bundles need, and asks each node to set its bundles aside (Prepare).
//  2. A node sets aside what fits, and says so or refuses (Prepared). That ends the debit.
//  3. When all nodes have set their bundles aside, the group is prepared (GroupPrepared). The user of the machine commits that, and then says that the group
//     needs nothing more (GroupGone). Only then do the nodes give the bundles to work.
//  4. When a node refuses, or falls silent before it has answered, the others drop what they have set aside (Unprepare), and 1 follows again.
//
// What no node has free now is tried again when some node may have more room. When that is so for RecallAfter, nodes that could have the bundles are asked
// to recall leases for them; they refuse what does not come free within a second.

// GroupsSince is the first protocol of nodes that have placement groups.
const GroupsSince Protocol = 8

// Group is a placement group for some bundles of which nodes are to be found.
type Group struct {
	ID       ids.Group
	Epoch    uint64
	Job      ids.Job
	Name     string // in messages
	Home     Node   // of the process that has made it: the bundles are on nodes with whose processes that one's talk
	Strategy packing.Strategy
	Bundles  []resource.Set
	At       []Node // of each bundle: the node that has it already; 0: a node is to be found
	Wait     bool   // nodes that have what it needs may come later: it is never infeasible
	// Allows reports whether a bundle may be on a node, by the node's labels; nil: on each. Asks has what each bundle asks of labels, for messages.
	Allows func(bundle int, n Node) bool
	Asks   []string
}

// group is a Group that is not prepared, or whose preparation is not committed.
type group struct {
	Group
	to      []Node          // of each bundle in this attempt; nil: there is no attempt
	tickets map[Node]Ticket // of the orders of this attempt
	left    map[Node]bool   // the nodes that have not answered yet; when there are none, the attempt is not given up but by RetryGroup
	told    bool            // that it is infeasible
	order   uint64

	recallAt time.Duration // not before this nodes are asked to recall leases for it
	recalls  int           // how often they were
	refused  map[Node]bool // those that have refused it since all were asked
}

// PlaceGroup has nodes set the bundles of a group aside.
func (m *Machine) PlaceGroup(q Group) {
	if old := m.groups[q.ID]; old != nil {
		if old.Epoch >= q.Epoch {
			return
		}
		if !old.committedBefore(&q) { // a node has died that had bundles of it before this attempt
			m.unprepare(old, 0)
		}
		m.dropGroup(old)
	}
	m.sequence++
	g := &group{Group: q, order: m.sequence, refused: make(map[Node]bool)}
	m.groups[q.ID] = g
	m.waitingGroups = append(m.waitingGroups, g)
	m.judgeGroups = true
	m.waitsForRecall(g)
	m.tryGroup(g)
	m.decide()
}

// committedBefore reports whether the group was placed as this attempt had found, before it came to a later request: a bundle has a node that had none.
func (g *group) committedBefore(q *Group) bool {
	for i, at := range g.At {
		if at == 0 && q.At[i] != 0 {
			return true
		}
	}
	return false
}

// GroupGone says that a group needs no nodes any more: it was removed, or where it is was committed.
func (m *Machine) GroupGone(id ids.Group, epoch uint64) {
	if g := m.groups[id]; g != nil && g.Epoch <= epoch {
		m.dropGroup(g)
		m.decide()
	}
}

// RetryGroup says that where a group is cannot be committed, since one of its nodes has died: the others drop what they have set aside, and it begins anew.
func (m *Machine) RetryGroup(id ids.Group, epoch uint64) {
	if g := m.groups[id]; g != nil && g.Epoch == epoch && g.to != nil {
		m.failAttempt(g, 0)
		m.decide()
	}
}

// AskedFor returns the nodes that were asked to set bundles of a group aside and are alive, in order.
func (m *Machine) AskedFor(id ids.Group) []Node {
	if g := m.groups[id]; g != nil {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(g.tickets)), func(n Node) bool { return m.nodes[n] == nil })
	}
	return nil
}

// dropGroup forgets a group. What nodes have set aside for it is the business of whoever knows why.
func (m *Machine) dropGroup(g *group) {
	for _, n := range slices.Sorted(maps.Keys(g.left)) {
		m.answered(g, n)
	}
	delete(m.groups, g.ID)
	m.waitingGroups = slices.DeleteFunc(m.waitingGroups, func(o *group) bool { return o == g })
}

// Prepared takes a node's answer: it has set its bundles aside, or not.
func (m *Machine) Prepared(from Node, id ids.Group, t Ticket, ok bool) {
	g := m.groups[id]
	if g == nil || g.tickets[from] != t || !g.left[from] {
		return // the attempt has ended
	}
	if !ok {
		g.refused[from] = true
		m.failAttempt(g, from)
		m.decide()
		return
	}
	m.answered(g, from)
	if len(g.left) == 0 {
		m.emit(GroupPrepared{ID: g.ID, Epoch: g.Epoch, Nodes: slices.Clone(g.to)})
	}
	m.decide()
}

// answered notes that a node has answered: its stock says now what is free.
func (m *Machine) answered(g *group, from Node) {
	if t := m.tickets[g.tickets[from]]; t != nil {
		m.close(t)
	}
	delete(g.left, from)
}

// failAttempt ends an attempt in which a node has refused, or is gone. The others drop what they have set aside.
func (m *Machine) failAttempt(g *group, by Node) {
	m.unprepare(g, by)
	for _, n := range slices.Sorted(maps.Keys(g.left)) {
		m.answered(g, n)
	}
	g.to, g.tickets, g.left = nil, nil, nil
	m.waitingGroups = append(m.waitingGroups, g)
	slices.SortFunc(m.waitingGroups, func(a, b *group) int { return cmp.Compare(a.order, b.order) })
	m.grew, m.judgeGroups = true, true
	m.waitsForRecall(g)
}

// unprepare has the nodes of an attempt that are alive, except for one, drop what they have set aside for it.
func (m *Machine) unprepare(g *group, except Node) {
	for _, n := range slices.Sorted(maps.Keys(g.tickets)) {
		if n != except && m.nodes[n] != nil {
			m.emit(Unprepare{Group: g.ID, Ticket: g.tickets[n], Node: n})
		}
	}
}

// groupsLose ends the attempts in which a node has not answered that is silent now. One in which all nodes have answered is about to be committed.
func (m *Machine) groupsLose(n Node) {
	var list []*group
	for _, g := range m.groups {
		if g.left[n] {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *group) int { return cmp.Compare(a.order, b.order) })
	for _, g := range list {
		m.failAttempt(g, 0) // when it is back it drops what it may have set aside
	}
}

const (
	// maxGroupTries is how many waiting groups are looked at for each change.
	maxGroupTries = 64
	// groupTryPause is after how long the next ones are looked at, if there are more.
	groupTryPause = 5 * time.Millisecond
)

// decideGroups looks for nodes for the groups that have none. It does so only when some node may have more room than before.
func (m *Machine) decideGroups() {
	if m.grew {
		m.groupsLeft = len(m.waitingGroups)
		m.tryGroups()
	}
	m.recallGroups()
}

// tryGroups looks for nodes for some of the groups that have none and were not looked at since, in turn.
func (m *Machine) tryGroups() {
	list := slices.Clone(m.waitingGroups)
	if len(list) > maxGroupTries {
		next := max(0, slices.IndexFunc(list, func(g *group) bool { return g.order > m.groupTurn }))
		list = slices.Concat(list[next:], list[:next])[:maxGroupTries]
		m.groupTurn = list[maxGroupTries-1].order
	}
	for _, g := range list {
		m.tryGroup(g)
	}
	m.groupsAt = 0
	if m.groupsLeft = min(m.groupsLeft-len(list), len(m.waitingGroups)); m.groupsLeft > 0 {
		m.groupsAt = m.now + groupTryPause
	}
}

// tryGroup asks nodes to set the bundles of a group aside, if there is room for all of them.
func (m *Machine) tryGroup(g *group) {
	nodes, slots := m.packingNodes(g)
	missing, _ := m.missing(g, slots)
	if to, ok := packing.Choose(g.Strategy, missing, nodes); ok {
		m.askAll(g, nodes, slots, to, true)
	}
}

// askAll asks the nodes that were chosen for the bundles of a group that have none. With debit, what these need is free there; else it is to be recalled.
func (m *Machine) askAll(g *group, nodes []packing.Node, slots []*node, to []int, debit bool) {
	missing, index := m.missing(g, slots)
	m.waitingGroups = slices.DeleteFunc(m.waitingGroups, func(o *group) bool { return o == g })
	if g.told {
		g.told = false
		m.emit(GroupFeasible{g.ID})
	}
	g.to, g.tickets, g.left = slices.Clone(g.At), make(map[Node]Ticket), make(map[Node]bool)
	of := make(map[Node]*Bundles)
	for _, i := range packing.Order(missing, nodes) { // in another order the node may not have them on its devices
		n := slots[to[i]]
		g.to[index[i]] = n.id
		b := of[n.id]
		if b == nil {
			b = &Bundles{Group: g.ID, Epoch: g.Epoch, Job: g.Job, Name: g.Name}
			of[n.id] = b
		}
		b.Index, b.Needs = append(b.Index, index[i]), append(b.Needs, missing[i].Need)
	}
	for _, n := range slots {
		if b := of[n.id]; b != nil {
			m.ask(g, n, b, debit)
		}
	}
}

// ask asks a node to set bundles aside, and may debit what they need.
func (m *Machine) ask(g *group, n *node, b *Bundles, debit bool) {
	b.Ticket = m.newTicket()
	if debit {
		t := &ticket{id: b.Ticket, group: g, node: n, sets: b.Needs, ends: m.now + m.o.TicketFor}
		m.open(t)
		if !t.debitSets() {
			panic("place: the ledger refused what fits: " + g.Name)
		}
	}
	g.tickets[n.id], g.left[n.id] = b.Ticket, true
	m.emit(Prepare{Node: n.id, Bundles: *b})
}

// packingNodes returns the nodes that may be asked, as packing sees them.
func (m *Machine) packingNodes(g *group) (nodes []packing.Node, slots []*node) {
	for _, n := range m.slots {
		if n == nil || !n.takes() || !m.knowsGroups(g, n) {
			continue
		}
		spare := n.devices && !slices.ContainsFunc(g.Bundles, n.ledger.AsksDevices)
		nodes, slots = append(nodes, packing.Node{Ledger: n.ledger, Here: g.on(n.id), Load: n.load, Spare: spare}), append(slots, n)
	}
	return nodes, slots
}

// on returns how many bundles of the group a node has already.
func (g *group) on(n Node) (count int) {
	for _, at := range g.At {
		if at == n {
			count++
		}
	}
	return count
}

// knowsGroups reports whether a node has placement groups, and its processes talk with the one that has made the group.
func (m *Machine) knowsGroups(g *group, n *node) bool {
	home := m.nodes[g.Home]
	return n.speaks >= GroupsSince && (home == nil || home.speaks == 0 || home.speaks == n.speaks)
}

// missing returns the bundles that have no node, and their indexes. Slots are the nodes of which one is chosen.
func (m *Machine) missing(g *group, slots []*node) (bundles []packing.Bundle, index []int) {
	for i, need := range g.Bundles {
		if g.At[i] != 0 {
			continue
		}
		b := packing.Bundle{Need: need}
		if g.Allows != nil {
			b.On = func(node int) bool { return g.Allows(i, slots[node].id) }
		}
		bundles, index = append(bundles, b), append(index, i)
	}
	return bundles, index
}

// debitSets takes what the ticket's bundles need out of what the node has free, all or nothing.
func (t *ticket) debitSets() bool {
	for _, set := range t.sets {
		a, ok := t.node.ledger.Acquire(set)
		if !ok {
			t.undebit()
			return false
		}
		t.holds = append(t.holds, a)
	}
	t.node.load = t.node.ledger.Load()
	return true
}
