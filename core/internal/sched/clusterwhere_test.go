package sched

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

var thisNode = ids.Node{1}

// chooses gives a class one of the strategies.
func (p *member) chooses(c *Class) {
	switch p.r.IntN(6) {
	case 0:
		c.Strategy.Kind = strategy.Spread
	case 1:
		c.Strategy = strategy.Strategy{Kind: strategy.Affinity, Node: thisNode, Soft: p.r.IntN(2) == 0}
	case 2:
		c.Strategy = strategy.Strategy{Kind: strategy.Affinity, Node: ids.Node{2}, Soft: p.r.IntN(2) == 0}
	}
}

// offerHere lets the head choose this node for what it was asked, perhaps for more than is wanted.
func (p *member) offerHere() {
	k, ok := anyOf(p, p.heads, func(h *heard) bool { return h.n > 0 && h.home })
	if !ok {
		return
	}
	h := p.heads[k]
	n := 1 + p.r.IntN(h.n+1)
	h.offered += uint64(n)
	h.n = max(0, h.n-n)
	d := p.m.clients[k.client].classes[k.class]
	before := d.outstanding()
	p.ticket++
	p.tickets[p.ticket] = n
	p.m.OfferedHere(k.client, k.class, n, p.ticket)
	took := 0
	for _, a := range p.m.actions {
		if s, settles := a.(Settled); settles && s.Ticket == p.ticket {
			took = s.Took
		}
	}
	if d.allowed != 0 || took > before {
		p.t.Fatalf("of %d leases that the head lets be given here %d are, and %d were wanted; %d are left", n, took, before, d.allowed)
	}
	p.allowed[k] += took
	p.own += took
	p.obey()
	if len(p.tickets) > 0 {
		p.t.Fatalf("the tickets %v are not settled at once", p.tickets)
	}
}
