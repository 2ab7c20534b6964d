package overflow

import (
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/record"
)

// Cluster is the head as far as it places leases. Its methods must not wait, and what they say goes to the head in the order of the calls.
type Cluster interface {
	// Want says how many leases of a class this node has no room for. It replaces what was said of the class before.
	Want(client uint64, class uint32, w place.Want)
	// Stock says what this node has, and what of it is free.
	Stock(s resource.Stock)
	// Settled says that a guest has used up a ticket: how many leases it gets for it, and what is free now.
	Settled(ticket uint64, took int, s resource.Stock)
	// Unused says that a process of this node does not use an offer.
	Unused(ticket uint64)
	// ActorRefused says that this node does not start an incarnation of an actor as it was told to, and what is free now.
	ActorRefused(i record.Instance, ticket uint64, s resource.Stock)
}

// Reporter tells a Cluster what the scheduler of its node decides.
type Reporter struct {
	cluster Cluster
	told    bool   // the stock was said
	changes uint64 // of the ledger, when it was
}

// New returns the Reporter of a node, nil if the node is alone.
func New(c Cluster) *Reporter {
	if c == nil {
		return nil
	}
	return &Reporter{cluster: c}
}

// CarryOut carries out an order of the scheduler, if it is one for the head.
func (r *Reporter) CarryOut(a sched.Action, m *sched.Machine) {
	if r == nil {
		return
	}
	switch a := a.(type) {
	case sched.Overflow:
		if a.Home && r.told { // what this node has decides, too, so the head hears it before
			r.Stock(m)
		}
		w := place.Want{Job: a.Job, Name: a.Name, Needs: a.Needs, N: a.N, Due: a.Due, Offered: a.Offered, Strategy: a.Strategy, Home: a.Home}
		for _, n := range a.Near {
			w.Near = append(w.Near, place.Node(n))
		}
		r.cluster.Want(uint64(a.Client), uint32(a.Class), w)
	case sched.Settled:
		r.told, r.changes = true, m.StockChanges()
		r.cluster.Settled(a.Ticket, a.Took, m.Stock())
	}
}

// Stock says what is free, if that has changed.
func (r *Reporter) Stock(m *sched.Machine) {
	if r == nil || r.told && r.changes == m.StockChanges() {
		return
	}
	r.told, r.changes = true, m.StockChanges()
	r.cluster.Stock(m.Stock())
}

// ActorTaken says that this node has taken what an actor needs that it was told to start.
func (r *Reporter) ActorTaken(ticket uint64, m *sched.Machine) {
	r.CarryOut(sched.Settled{Ticket: ticket, Took: 1}, m)
}

// ActorRefused says that this node does not start an actor as it was told to.
func (r *Reporter) ActorRefused(i record.Instance, ticket uint64, m *sched.Machine) {
	if r != nil {
		r.told, r.changes = true, m.StockChanges()
		r.cluster.ActorRefused(i, ticket, m.Stock())
	}
}

// Unused says that an offer is not used.
func (r *Reporter) Unused(ticket uint64) {
	if r != nil {
		r.cluster.Unused(ticket)
	}
}
