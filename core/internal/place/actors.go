package place

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// An actor is placed as soon as it is known: a node with room gets it, or else a node that could have room waits with it. So
// an actor that waits takes part in the queue of its node, where leases are recalled for it. If another node has room
// meanwhile, the actor is withdrawn and goes there. It stays here only while no connected node could ever take it.

// ActorID names one incarnation of an actor.
type ActorID struct {
	Actor       ids.Actor
	Incarnation uint64
}

// Actor is what an incarnation of an actor needs.
type Actor struct {
	ID       ActorID
	Home     Node           // of the process that has created it
	Name     string         // of its class
	Needs    []resource.Set // to be started, then the alternatives; at least one
	After    time.Duration  // how long it waits for the first of them before an alternative may do
	Wait     bool           // a node that has what it needs may come later: it is never infeasible
	Strategy strategy.Strategy
	At       Node // that was told to start it by an earlier process of the head; 0: none
}

// MoveAfter is how long an actor waits in the queue of a node before another node with room may get it.
const MoveAfter = 50 * time.Millisecond

// maxMoves is how many waiting actors are looked at for each change, the oldest first.
const maxMoves = 256

// actor is an incarnation that no node has begun to start, as far as the machine knows.
type actor struct {
	Actor
	bound  bool // the protocol of its home is known, so it has needs
	needs  []*need
	ranks  *ranks        // nil: labels do not matter
	at     Node          // that was told to start it; 0: none
	ticket Ticket        // of that order
	since  time.Duration // when the order was given
	debit  *ticket       // what is debited there; nil while it waits in the queue of the node
	next   *ticket       // what is debited at the node to which it is to move; nil while it is not withdrawn
	moves  bool          // it is withdrawn
	told   bool          // that it is infeasible
}

// PlaceActor has a node start an incarnation, once.
func (m *Machine) PlaceActor(q Actor) {
	if m.actors[q.ID] != nil {
		return
	}
	a := &actor{Actor: q, ranks: ranksOf(q.Strategy)}
	m.bind(a)
	m.actors[q.ID] = a
	m.find(a)
	m.decide()
}

// bind notes on nodes of which protocol the actor may run: of that of its home, since other processes there call it. When its home is dead, any node does. It
// reports false while the home may be alive and has not connected.
func (m *Machine) bind(a *actor) bool {
	home := m.nodes[a.Home]
	dead := m.deadAt[a.Home]
	switch {
	case a.bound && (!dead || a.needs[0].key.speaks == 0):
		return true
	case !dead && home == nil && m.waits && a.Home != 0:
		return false
	}
	for _, d := range a.needs {
		m.release(d)
	}
	a.bound, a.needs, m.judgeActors = true, nil, true
	var speaks Protocol
	if home != nil && !dead {
		speaks = home.speaks
	}
	for _, set := range a.Needs {
		a.needs = append(a.needs, m.needOf(set, speaks))
	}
	return true
}

// ActorGone says that nobody has to be told to start an incarnation any more: it starts, it has ended, or it is not wanted.
func (m *Machine) ActorGone(id ActorID) {
	if a := m.actors[id]; a != nil {
		m.forget(a)
		m.decide()
	}
}

// ActorRefused says that a node does not start an incarnation as it was told to with that ticket.
func (m *Machine) ActorRefused(from Node, id ActorID, t Ticket) {
	a := m.actors[id]
	if a == nil || a.at != from || a.ticket != t {
		return
	}
	if n := m.nodes[from]; n != nil && !a.moves {
		for _, d := range a.needs {
			m.pause(n, d)
		}
	}
	next := a.next
	a.next, a.moves = nil, false
	m.unorder(a)
	if next != nil && next.node.takes() {
		m.order(a, next.node.id, next)
		m.decide()
		return
	}
	if next != nil { // the node that was to get the actor has fallen silent meanwhile
		m.close(next)
	}
	m.find(a)
	m.decide()
}

// OrderedTo returns the node that was told to start an incarnation, and the ticket of that order; 0 if none was, or if the
// incarnation starts or has ended.
func (m *Machine) OrderedTo(id ActorID) (Node, Ticket) {
	if a := m.actors[id]; a != nil {
		return a.at, a.ticket
	}
	return 0, 0
}

// find tells a node to start the actor, or keeps it until a node comes that could.
func (m *Machine) find(a *actor) {
	if !m.start(a) {
		m.homeless, m.judgeActors = append(m.homeless, a), true
		if m.isDoomed(a.Strategy) {
			m.doomedA = append(m.doomedA, a)
		}
	}
}

// start tells a node to start the actor. It reports false if no node can be told.
func (m *Machine) start(a *actor) bool {
	if a.At != 0 {
		at := a.At
		a.At = 0
		m.order(a, at, nil)
		return true
	}
	if !m.bind(a) {
		return false
	}
	if t := m.debitFor(a, 0); t != nil {
		m.order(a, t.node.id, t)
		return true
	}
	if n := m.queueFor(a); n != nil {
		m.order(a, n.id, nil)
		return true
	}
	return false
}

// order tells a node to start the actor. Without a debit the actor waits there.
func (m *Machine) order(a *actor, to Node, debit *ticket) {
	if a.told {
		a.told = false
		m.emit(ActorFeasible{a.ID})
	}
	a.at, a.debit, a.since = to, debit, m.now
	if debit != nil {
		a.ticket = debit.id
	} else {
		a.ticket = m.newTicket()
	}
	m.orders[a.ticket] = a
	m.ordered = append(m.ordered, a)
	if n := m.nodes[to]; n != nil {
		n.actors++
	}
	m.emit(StartActor{a.ID, to, a.ticket})
	m.look(a)
}

// unorder takes back that a node was told to start the actor.
func (m *Machine) unorder(a *actor) {
	delete(m.orders, a.ticket)
	m.ordered = slices.DeleteFunc(m.ordered, func(o *actor) bool { return o == a })
	if n := m.nodes[a.at]; n != nil {
		n.actors--
	}
	a.at, a.ticket = 0, 0
	if a.debit != nil {
		m.close(a.debit)
	}
}

// forget drops an actor.
func (m *Machine) forget(a *actor) {
	if a.at != 0 {
		m.unorder(a)
	} else {
		m.homeless = slices.DeleteFunc(m.homeless, func(o *actor) bool { return o == a })
	}
	if a.next != nil {
		m.close(a.next)
	}
	for _, d := range a.needs {
		m.release(d)
	}
	delete(m.actors, a.ID)
}

// decideActors tells nodes to start actors for which there was none, and withdraws those for which another node has room. It
// does so only when some node may have more room than before.
func (m *Machine) decideActors() {
	if !m.grew {
		return
	}
	m.grew = false
	m.homeless = slices.DeleteFunc(m.homeless, m.start)
	looked := 0
	for _, a := range m.ordered {
		if a.debit != nil || a.moves {
			continue
		}
		if m.now < a.since+MoveAfter {
			m.look(a)
			return // the others were told later
		}
		if looked++; looked > maxMoves {
			return
		}
		if !m.bind(a) {
			continue
		}
		if a.next = m.debitFor(a, a.at); a.next != nil {
			a.moves = true
			m.emit(WithdrawActor{a.ID, a.at, a.ticket})
		}
	}
}

// look has the machine look at an actor again when the actor has waited for long enough.
func (m *Machine) look(a *actor) {
	if at := a.since + MoveAfter; a.debit == nil && (m.lookAt == 0 || at < m.lookAt) {
		m.lookAt = at
	}
}

// debitFor debits what the actor needs at the best node that has room for it, except for one. It returns nil if none has.
func (m *Machine) debitFor(a *actor, except Node) *ticket {
	for i, d := range a.needs {
		if i > 0 && a.After > 0 {
			break
		}
		if n := m.choose(m.wish(a, d, except)); n != nil {
			m.noteSpread(a, n)
			t := &ticket{id: m.newTicket(), actor: a, node: n, need: d, choice: i, ends: m.now + m.o.TicketFor}
			m.open(t)
			if !t.debit() {
				panic("place: the ledger refused what fits: " + d.key.set)
			}
			return t
		}
	}
	return nil
}

// wish is what decides where the actor runs, with one of its needs and not on one node.
func (m *Machine) wish(a *actor, d *need, except Node) *wish {
	return &wish{need: d, strategy: a.Strategy, ranks: a.ranks, from: a.Home, except: except, given: m.spread[a.Name]}
}

// noteSpread counts that an actor of a class got a node. Classes that were used long ago are forgotten, all at once.
func (m *Machine) noteSpread(a *actor, n *node) {
	if a.Strategy.Kind != strategy.Spread {
		return
	}
	given := m.spread[a.Name]
	if given == nil {
		if len(m.spread) >= keptSpread {
			clear(m.spread)
		}
		given = make(map[Node]int)
		m.spread[a.Name] = given
	}
	given[n.id]++
}

// keptSpread is of how many classes the machine knows which nodes their actors got.
const keptSpread = 1024

// sparesDevices reports whether one of two nodes only has accelerators, for work that needs none.
func (m *Machine) sparesDevices(d *need, n, o *node) bool {
	return n.devices != o.devices && !n.ledger.AsksDevices(d.set) && !o.ledger.AsksDevices(d.set)
}

// queueFor returns the node in whose queue the actor waits best: the one with the fewest waiting actors for its size. It
// returns nil if no connected node could ever take the actor.
func (m *Machine) queueFor(a *actor) (best *node) {
	for _, n := range m.slots {
		if n == nil || !n.takes() || !m.could(n, a) {
			continue
		}
		if best == nil || m.queuesBetter(a, n, best) {
			best = n
		}
	}
	return best
}

func (m *Machine) queuesBetter(a *actor, n, o *node) bool {
	if a.ranks != nil {
		if x, y := m.rank(a.ranks, n), m.rank(a.ranks, o); x != y {
			return x < y
		}
	}
	if m.sparesDevices(a.needs[0], n, o) {
		return o.devices
	}
	switch x, y := n.queue(), o.queue(); {
	case x != y:
		return x < y
	case n.id == a.Home || o.id == a.Home:
		return n.id == a.Home
	case n.load != o.load:
		return n.load < o.load
	}
	return n.id < o.id
}

// queue is how many actors wait there for each CPU, with one more.
func (n *node) queue() float64 {
	return float64(n.actors+1) / max(1, float64(n.totals[resource.CPU])/float64(resource.Unit))
}

// could reports whether the actor may run on the node, and the node could have one of its needs if all were free and has not
// just refused it.
func (m *Machine) could(n *node, a *actor) bool {
	return m.allows(a.ranks, n) && slices.ContainsFunc(a.needs, func(d *need) bool {
		only := m.onlyNode(m.wish(a, d, 0))
		_, paused := n.paused[d]
		return !paused && d.talks(n) && (only == ids.Node{} || n.name == only) && n.ledger.Could(d.set)
	})
}
