package place

import (
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// wish is what decides which of the nodes with room gets a lease or an actor.
type wish struct {
	need     *need
	strategy strategy.Strategy
	ranks    *ranks       // of the nodes by their labels; nil: labels do not matter
	from     Node         // the node of the process that asks
	except   Node         // is not chosen; 0: each may be
	near     []Node       // nodes with large arguments, the best one first
	late     bool         // it has waited for the node that it names for long enough
	given    map[Node]int // of SPREAD: how often each node was chosen for the same class
}

// choose returns the node that serves a wish best, nil if no node has room that may.
//
// Of nodes that labels tell apart, those with the best come first. Otherwise it knows three orders, of which the first that tells two nodes apart decides:
//
//   - SPREAD: the node that was chosen least for the class, then the emptiest one;
//   - a node that holds large arguments, in their order;
//   - all else: for work without accelerators a node without any; then a node that is used by less than PackTo, of
//     these the node of the asking process and then the fullest; then the emptiest.
func (m *Machine) choose(w *wish) *node {
	if only := m.onlyNode(w); only != (ids.Node{}) {
		n := m.named[only]
		if n == nil || !w.need.in[n.slot] || n.id == w.except || !m.allows(w.ranks, n) {
			return nil
		}
		if !n.fits(w.need) {
			w.need.remove(n)
			return nil
		}
		return n
	}
	for {
		var best *node
		for _, n := range w.need.open {
			if n.id != w.except && m.allows(w.ranks, n) && (best == nil || m.better(w, n, best)) {
				best = n
			}
		}
		if best == nil || best.fits(w.need) {
			return best
		}
		w.need.remove(best)
	}
}

// onlyNode returns the node that alone may be chosen, zero if all may. A soft affinity holds while its node is alive
// and has enough in all and the labels, and with Spills until the work has waited there for long enough. As long as nodes are awaited, its node may be one of them, unless it has died.
func (m *Machine) onlyNode(w *wish) ids.Node {
	switch s := w.strategy; {
	case s.Kind != strategy.Affinity:
		return ids.Node{}
	case !s.Soft:
		return s.Node
	case s.Busy == strategy.Spills && (w.late || w.except != 0 && m.named[s.Node] == m.nodes[w.except]):
		return ids.Node{}
	default:
		n := m.named[s.Node]
		if n == nil && m.waits && !m.dead[s.Node] || n != nil && w.need.talks(n) && m.mayAllow(w.ranks, n) && (n.ledger == nil || n.ledger.Could(w.need.set)) {
			return s.Node
		}
		return ids.Node{}
	}
}

// mustRunOn reports whether a strategy names the only node that does.
func mustRunOn(s strategy.Strategy) bool { return s.Kind == strategy.Affinity && !s.Soft }

// isDoomed reports whether a strategy names a dead node that alone will do.
func (m *Machine) isDoomed(s strategy.Strategy) bool { return mustRunOn(s) && m.dead[s.Node] }

// better reports whether n is to be used before o.
func (m *Machine) better(w *wish, n, o *node) bool {
	if w.ranks != nil {
		if a, b := m.rank(w.ranks, n), m.rank(w.ranks, o); a != b {
			return a < b
		}
	}
	if a, b := w.names(n), w.names(o); a != b { // it is late, and the node that it names has room now
		return a
	}
	if w.strategy.Kind == strategy.Spread {
		switch a, b := w.given[n.id], w.given[o.id]; {
		case a != b:
			return a < b
		case n.load != o.load:
			return n.load < o.load
		}
		return n.id < o.id
	}
	if len(w.near) > 0 {
		if a, b := w.nearness(n), w.nearness(o); a != b {
			return a < b
		}
	}
	if m.sparesDevices(w.need, n, o) {
		return o.devices
	}
	packN, packO := n.load < m.o.PackTo, o.load < m.o.PackTo
	switch {
	case packN != packO:
		return packN
	case packN && (n.id == w.from) != (o.id == w.from):
		return n.id == w.from
	case n.load == o.load:
		return n.id == w.from || o.id != w.from && n.id < o.id
	case packN:
		return n.load > o.load
	}
	return n.load < o.load
}

// names reports whether the strategy names the node.
func (w *wish) names(n *node) bool {
	return w.strategy.Kind == strategy.Affinity && w.strategy.Node == n.name
}

// nearness is the place of a node among those that hold large arguments. All others have the same, which is larger.
func (w *wish) nearness(n *node) int {
	if i := slices.Index(w.near, n.id); i >= 0 {
		return i
	}
	return len(w.near)
}

// Speaks says which protocol the processes of a node have that has just connected (NodeUp). It is the same on each connection of the node.
func (m *Machine) Speaks(id Node, p Protocol) {
	if n := m.nodes[id]; n != nil && !n.reported {
		n.speaks = p
	}
}

// Name says what the id of a node is, by which strategies name it. The machine must know the node.
func (m *Machine) Name(id Node, name ids.Node) {
	n := m.nodes[id]
	if n == nil || n.name == name {
		return
	}
	delete(m.named, n.name)
	n.name = name
	m.named[name] = n
	m.shape++
	m.grew = true
}
