package place

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sim"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// named is the id of a node.
func named(n Node) ids.Node { return ids.Node{byte(n >> 8), byte(n), 1} }

// chooses gives a class a strategy. The node that it names may be one that never was.
func (w *world) chooses(c *class) {
	c.home = w.die.OneIn(2)
	switch w.die.N(4) {
	case 0:
		c.strategy.Kind = strategy.Spread
	case 1:
		node := Node(999)
		if !w.die.OneIn(6) {
			node = sim.Pick(w.die, w.sorted()).id
		}
		c.strategy = strategy.Strategy{Kind: strategy.Affinity, Node: named(node), Soft: w.die.OneIn(2)}
	case 2:
		for range w.die.N(3) {
			c.near = append(c.near, sim.Pick(w.die, w.sorted()).id)
		}
	}
	if w.die.OneIn(3) {
		c.strategy.Labels = sim.Pick(w.die, simLabels)
	}
}

var simLabels = []string{`[[{"zone":"a"}]]`, `[[{"zone":"!a"}]]`, `[[{"zone":"b"}],[{"zone":"in(a,b)"}]]`, `[[{"zone":"c"}],[]]`, `[[{"zone":"in(a,c)"},{"zone":"!a"}]]`, `[[{"zone":"none"}]]`}

// zone is the label of a node.
func zone(n Node) map[string]string { return map[string]string{"zone": string("abc"[n%3])} }

// label tells the machine which labels a node has.
func (w *world) label(n *played) {
	if w.bug == "labels are mixed up" {
		w.m.Label(n.id, zone(n.id+1))
		return
	}
	w.m.Label(n.id, zone(n.id))
}

// rankOf is the place of a node among those that a strategy allows by their labels, below 0 for others.
func rankOf(s strategy.Strategy, n *played) int {
	rank, _ := s.Wishes().Rank(zone(n.id))
	return rank
}

// isBest checks that no node with better labels has room, as far as the machine knows.
func (w *world) isBest(a Offer, c *class, home, n *played) {
	if c.strategy.Labels == "" || w.bug != "" {
		return
	}
	for _, o := range w.sorted() {
		row := w.m.nodes[o.id]
		if row == nil || !row.takes() || row.labels == nil || rankOf(c.strategy, o) < 0 || rankOf(c.strategy, o) >= rankOf(c.strategy, n) || !w.may(c, home, o, c.needs[a.Choice]) {
			continue
		}
		if d := w.m.tickets[a.Ticket]; d != nil && row.fits(d.need) {
			panic(fmt.Sprintf("%s: node %d has better labels, and room", a, o.id))
		}
	}
}

// may reports whether a class may run on a node with a need.
func (w *world) may(c *class, from *played, on *played, need resource.Set) bool {
	if on == from && !c.home || rankOf(c.strategy, on) < 0 {
		return false
	}
	if c.strategy.Kind != strategy.Affinity {
		return true
	}
	i := slices.IndexFunc(w.sorted(), func(n *played) bool { return named(n.id) == c.strategy.Node })
	if i < 0 {
		return c.strategy.Soft
	}
	n := w.sorted()[i]
	if c.strategy.Soft {
		if _, could := n.ledger.CanEver(need); !could || rankOf(c.strategy, n) < 0 {
			return true
		}
	}
	return on == n
}

// atOwn brings an offer of the process's own node to it. What fits is served at once.
func (w *world) atOwn(n *played, t underWay) {
	c := n.classes[t.To]
	c.offered += uint64(t.N)
	took := 0
	for range min(t.N, c.level) {
		if a, ok := n.ledger.Acquire(t.need); ok {
			n.leases = append(n.leases, a)
			took++
		}
	}
	c.level -= took
	c.due = min(c.due, c.level)
	w.granted, w.own = w.granted+took, w.own+took
	w.log.Note("node %d serves %d of its own ticket %d and has %s free", n.id, took, t.Ticket, n.ledger.Free())
	w.say(n, t.To)
	stock := n.ledger.Stock()
	n.dirty = !n.up
	w.toHead(n, settledSaid{t.Ticket, took, &stock})
}
