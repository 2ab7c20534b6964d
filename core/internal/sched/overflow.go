package sched

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// In a cluster of several nodes (Options.Cluster), wants that find no room here overflow: the machine says how many
// there are (the action Overflow), and the daemon passes that on to the head. The head offers leases of other
// nodes, and an offer counts as grants. Without Options.Cluster this file does nothing.
//
// What is said is a level: each Overflow of a class replaces the one before. It names how many leases were offered to
// the class so far, so that the head knows which of its offers the level does not count yet.

// OverflowAfter is how long wants of a class wait for this node before they overflow. What the node can never
// give overflows at once.
const OverflowAfter = RecallAfter

// told is what was said last about a class that overflows.
type told struct {
	n, due  int
	offered uint64
	home    bool
	near    []uint32
}

// overflow says what has changed about the classes that overflow.
func (m *Machine) overflow() {
	if !m.o.Cluster {
		return
	}
	for _, d := range m.waiting {
		if m.headDecides(d) || d.room {
			m.noteRoom(d)
		}
		if m.overflows(d) {
			m.mayOverflow(d)
			m.tell(d, d.outstanding(), m.dueElsewhere(d))
		}
	}
	m.overflowing = slices.DeleteFunc(m.overflowing, func(d *demand) bool {
		if m.overflows(d) {
			return false
		}
		m.tell(d, 0, 0)
		return true
	})
}

// mayOverflow notes that the head may have to be told of d.
func (m *Machine) mayOverflow(d *demand) {
	if !slices.Contains(m.overflowing, d) {
		m.overflowing = append(m.overflowing, d)
	}
}

// overflows reports whether the wants of d that have no room here may go to other nodes.
func (m *Machine) overflows(d *demand) bool {
	switch {
	case !d.waits || d.isActor() || d.client.guest:
		return false
	case !m.couldServe(d) || m.headDecides(d):
		return true
	}
	if m.namesThis(d) {
		return m.spillsFrom(d) && m.now >= d.since+strategy.Patience
	}
	return m.now >= d.since+OverflowAfter
}

// couldServe reports whether this node could give one of the choices of d if all were free.
func (m *Machine) couldServe(d *demand) bool {
	return !m.isElsewhere(d) && slices.ContainsFunc(d.choices, func(c Choice) bool { return m.ledger.Could(c.Need) })
}

// dueElsewhere returns for how many of the wants of d that have no room an alternative may be taken.
func (m *Machine) dueElsewhere(d *demand) int {
	switch {
	case len(d.choices) == 1:
		return 0
	case d.class.After == 0:
		return d.outstanding()
	}
	return min(max(0, d.due-len(d.reserved)), d.outstanding())
}

// tell says how many wants of d overflow, unless the head knows it already.
func (m *Machine) tell(d *demand, n, due int) {
	since := int(d.offered - d.told.offered)
	home := n > 0 && m.headDecides(d) && m.servesToo(d)
	known := n == max(0, d.told.n-since) && due == max(0, d.told.due-since) && (n == 0 || home == d.told.home && slices.Equal(d.near, d.told.near))
	if known && (n > 0 || since == 0) { // at 0 the head has to hear that its last offers have arrived
		return
	}
	d.told = told{n, due, d.offered, home, d.near}
	needs := make([]resource.Set, len(d.choices))
	for i, c := range d.choices {
		needs[i] = c.Need
	}
	m.emit(Overflow{Client: d.client.id, Class: d.class.ID, Job: d.client.job.id, Name: d.class.Name, Needs: needs, N: n, Due: due, Offered: d.offered,
		Strategy: d.class.Strategy, Home: home, Near: d.near})
}

// Offered says that another node has room for n leases of a class. It returns how many of them the client can use,
// which count as granted.
func (m *Machine) Offered(id ClientID, class ClassID, n int) (take int) {
	cl := m.clients[id]
	if cl == nil || cl.classes[class] == nil || n <= 0 {
		return 0
	}
	d := cl.classes[class]
	d.offered += uint64(n)
	take = max(0, min(n, d.outstanding()))
	d.granted += uint64(take)
	d.want -= take
	d.due = max(0, d.due-take)
	m.updateWaiting(d)
	m.mayOverflow(d) // the head has to hear that the offer has arrived
	m.reschedule()
	return take
}

// EnvOf returns the key of the environment of a client's class, "" if there is no such class.
func (m *Machine) EnvOf(id ClientID, class ClassID) string {
	if cl := m.clients[id]; cl != nil && cl.classes[class] != nil {
		return cl.classes[class].class.Env
	}
	return ""
}

// Infeasible says that no node of the cluster can ever give what a class needs, and why; or, with busy, that the node that the class names has no
// room, so that what is queued fails.
func (m *Machine) Infeasible(id ClientID, class ClassID, why string, busy bool) {
	cl := m.clients[id]
	if cl == nil || cl.classes[class] == nil {
		return
	}
	d := cl.classes[class]
	if m.o.WaitForFit && !d.mustFit() || !d.waits || m.couldServe(d) {
		return
	}
	if busy {
		m.failAs(d, fault.NodeBusy, why)
	} else {
		m.fail(d, why)
	}
	m.reschedule()
}

// fail drops the wants of d that have no resources, for good.
func (m *Machine) fail(d *demand, why string) { m.failAs(d, fault.TaskUnschedulable, why) }

func (m *Machine) failAs(d *demand, code fault.Code, why string) {
	d.want = len(d.reserved)
	m.updateWaiting(d)
	m.emit(ClassFailed{d.client.id, d.class.ID, code, why})
}
