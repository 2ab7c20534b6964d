package sched

import (
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/fault"
)

// A node that leaves the cluster is drained: it takes no resources for anything new, asks for its leases back, and refuses the actors that
// wait here. What its own processes want is for the head to place.

// Drain says that this node leaves the cluster. There is no way back.
func (m *Machine) Drain() {
	if m.drains {
		return
	}
	m.drains = true
	for _, d := range m.waiting {
		if d.isActor() && d.bundles == nil {
			for _, a := range d.queue {
				m.refuseDrained(a)
			}
		}
	}
	m.reschedule()
}

// refuseDrained says that an actor which waits here gets no worker of this node, if another node may have one.
func (m *Machine) refuseDrained(a actorWant) {
	if a.ticket != 0 {
		m.emit(ActorFailed{a.id, fault.ActorUnschedulable, "the node leaves the cluster", false})
	}
}

// recallAll asks for all leases back, on a node that is drained.
func (m *Machine) recallAll() {
	if !m.drains {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(m.leases)) {
		if l := m.leases[id]; !l.ending() {
			l.recalled = true
			m.uncount(l)
			m.emit(Recall{l.demand.client.id, l.id})
		}
	}
}

// IsIdle reports whether nobody has a worker or resources of this node, and no actor waits for them.
func (m *Machine) IsIdle() bool {
	for _, w := range m.workers {
		if w.hold != nil || w.state == workerLeased || w.state == workerActor {
			return false
		}
	}
	return len(m.leases) == 0 && len(m.actors) == 0 && len(m.bundles) == 0
}
