package sched

import (
	"fmt"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/strategy"
)

// In a cluster of several nodes some wants are for the head to decide, although this node may have room for them: those
// of a strategy that looks at all nodes, and those that another node would serve better. They overflow at once. The
// head may offer leases of this node, too (OfferedHere).

const (
	// PackTo is up to which load this node serves its own processes without asking the head.
	PackTo = 0.5
	// HeadPatience is the default of Options.HeadPatience.
	HeadPatience = 200 * time.Millisecond
)

// MaxNear is how many nodes with large arguments a want names at most.
const MaxNear = 4

// SetCompany says whether there are other nodes that are alive. Without any, this node decides all but what names
// another node.
func (m *Machine) SetCompany(others bool) {
	if m.company != others {
		m.company = others
		m.reschedule()
	}
}

// namesOther reports whether the class names another node.
func (m *Machine) namesOther(d *demand) bool {
	s := d.class.Strategy
	return s.Kind == strategy.Affinity && s.Node != m.o.Node
}

// namesThis reports whether the class names this node. It waits for room here then, also where another node would do
// if this one were dead.
func (m *Machine) namesThis(d *demand) bool {
	s := d.class.Strategy
	return s.Kind == strategy.Affinity && s.Node == m.o.Node
}

// rank is the place of this node among those that a strategy allows by their labels, 0 for the best; it is below 0 if this node is not one of them.
func (m *Machine) rank(s strategy.Strategy) int {
	if s.Labels == "" {
		return 0
	}
	rank, _ := s.Wishes().Rank(m.o.Labels)
	return rank
}

// isElsewhere reports whether d never runs on this node, however much of it is free.
func (m *Machine) isElsewhere(d *demand) bool { return m.drains || d.rank < 0 || m.namesOther(d) }

// headDecides reports whether it is for the head to say where the wants of d are served.
func (m *Machine) headDecides(d *demand) bool {
	if !m.o.Cluster || d.isActor() || d.client.guest {
		return false
	}
	return m.isElsewhere(d) || m.company && !m.isLate(d) && m.asksHead(d)
}

// servesToo reports whether the head may let this node serve d.
func (m *Machine) servesToo(d *demand) bool {
	if m.drains || m.namesOther(d) && !d.class.Strategy.Soft || d.rank < 0 {
		return false
	}
	return slices.ContainsFunc(d.choices, func(c Choice) bool { return m.ledger.Could(c.Need) })
}

// asksHead is headDecides for a class that does not name another node, where there are others.
func (m *Machine) asksHead(d *demand) bool {
	switch s := d.class.Strategy; {
	case s.Kind == strategy.Affinity || len(d.choices) > 1:
		return false
	case d.rank > 0: // another node may have better labels
		return true
	case s.Kind == strategy.Group: // what has room in a bundle here is served here, unless its large arguments are elsewhere
		return !m.ledger.Fits(d.class.Need) || len(d.near) > 0 && d.near[0] != m.o.Number
	case s.Kind == strategy.Spread:
		return true
	case len(d.near) > 0:
		return d.near[0] != m.o.Number
	}
	return m.ledger.Load() >= PackTo || m.ledger.HasDevices() && !m.ledger.AsksDevices(d.class.Need)
}

// isLate reports whether the head could have offered this node to d for too long.
func (m *Machine) isLate(d *demand) bool { return d.room && m.now >= d.roomSince+m.o.HeadPatience }

// noteRoom notes since when this node has had room for a class for which the head decides.
func (m *Machine) noteRoom(d *demand) {
	room := m.company && !m.isElsewhere(d) && m.asksHead(d) && m.fits(d, d.class.Need) && !m.takesFromClaim(d, d.class.Need)
	if room && !d.room {
		d.roomSince = m.now
	}
	d.room = room
}

// headIsLate reports whether the head will have taken too long by the time then, for a class for which it decides now.
func (m *Machine) headIsLate(then time.Duration) bool {
	return slices.ContainsFunc(m.waiting, func(d *demand) bool { return m.headDecides(d) && d.room && then >= d.roomSince+m.o.HeadPatience })
}

// failUnreachable fails a class that names another node, on a node that is alone for good.
func (m *Machine) failUnreachable(d *demand) bool {
	if m.o.Cluster || d.isActor() || !m.namesOther(d) || d.class.Strategy.Soft {
		return false
	}
	m.fail(d, fmt.Sprintf("task %s must run on node %s, and this cluster has node %s only. Name a node of ray.nodes(), or use soft=True, with which another node does.",
		d.class.Name, d.class.Strategy.Node, m.o.Node))
	return true
}

// OfferedHere says that the head lets n wants of a class be served by this node. What fits is served at once, and the
// rest is still wanted. The ticket is settled.
func (m *Machine) OfferedHere(id ClientID, class ClassID, n int, ticket uint64) {
	took := 0
	if cl := m.clients[id]; cl != nil && cl.classes[class] != nil && n > 0 {
		d := cl.classes[class]
		d.offered += uint64(n)
		d.allowed = n
		m.mayOverflow(d) // the head has to hear that the offer has arrived
		m.reschedule()
		took, d.allowed = n-d.allowed, 0
	}
	m.emit(Settled{ticket, took})
}

// lacksLabels says in words that this node does not have the labels that d asks for, "" when it has them or d asks for none.
func (m *Machine) lacksLabels(d *demand) string {
	if d.rank >= 0 {
		return ""
	}
	return fmt.Sprintf("a node with the labels %s", d.class.Strategy.Wishes())
}

// mustFit reports whether a class that no node can serve fails, also where the user waits for a larger cluster: the
// node that it names stays as small as it is, or dead.
func (d *demand) mustFit() bool {
	return d.class.Strategy.Kind == strategy.Affinity && !d.class.Strategy.Soft
}
