package sched

import (
	"slices"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// This file has what a demand says of itself, and how its wants are counted.

// isActor reports whether the demand is that of waiting actors.
func (d *demand) isActor() bool { return d.client.classes == nil }

// outstanding returns how many wants have no resources yet.
func (d *demand) outstanding() int { return d.want - len(d.reserved) }

// servedBefore reports whether d comes before o: demands whose job, client or class was
// served longer ago come first.
func (d *demand) servedBefore(o *demand) bool {
	switch a, b := d.client, o.client; {
	case a.job.served != b.job.served:
		return a.job.served < b.job.served
	case a.served != b.served:
		return a.served < b.served
	case d.served != o.served:
		return d.served < o.served
	default:
		return false // m.waiting is in order of since
	}
}

// isCPULess reports whether d's tasks need next to no CPU in this choice.
func isCPULess(d *demand, need resource.Set) bool {
	return !d.isActor() && need[resource.CPU] < MinCPU
}

// atLeast returns the larger amount of each name.
func atLeast(need, run resource.Set) resource.Set {
	s := need.Clone()
	for name, n := range run {
		s[name] = max(s[name], n)
	}
	return s
}

// choicesOf lists the first choice and the alternatives of a class.
func choicesOf(c Class, run resource.Set) []Choice {
	all := append([]Choice{{c.Need, run}}, c.Else...)
	for i := range all {
		all[i].Need = atLeast(all[i].Need, all[i].Run)
	}
	return all
}

// updateWaiting puts d into the list of waiting demands, or takes d out of it.
func (m *Machine) updateWaiting(d *demand) {
	if waits := d.outstanding() > 0 && !d.dropped; waits != d.waits {
		d.waits = waits
		if waits {
			d.since, d.room = m.now, false
			m.waiting = append(m.waiting, d)
		} else {
			m.waiting = slices.DeleteFunc(m.waiting, func(o *demand) bool { return o == d })
		}
	}
}

// unreserve gives a reservation's resources back. An actor's place in the queue is lost.
func (m *Machine) unreserve(r *reservation) {
	d := r.demand
	same := func(o *reservation) bool { return o == r }
	d.reserved = slices.DeleteFunc(d.reserved, same)
	d.pool.queue = slices.DeleteFunc(d.pool.queue, same)
	m.ledger.Release(r.hold)
	if r.extra != nil {
		m.ledger.Release(r.extra)
	}
	if r.cpuLess {
		m.cpuLess--
	}
}

// dropDemand forgets all wants of d.
func (m *Machine) dropDemand(d *demand) {
	d.dropped = true
	for len(d.reserved) > 0 {
		r := d.reserved[len(d.reserved)-1]
		if d.isActor() {
			delete(m.actors, r.actor.id)
		}
		m.unreserve(r)
	}
	for _, a := range d.queue {
		delete(m.actors, a.id)
	}
	d.want, d.due, d.queue = 0, 0, nil
	m.updateWaiting(d)
}

// forget removes a retired class that has no lease any more.
func (d *demand) forget() {
	if d.retired && d.leases == 0 && d.client.classes[d.class.ID] == d {
		delete(d.client.classes, d.class.ID)
	}
}

// movable reports whether all leases of the class hold the same resources.
func (d *demand) movable() bool { return len(d.choices) == 1 && d.class.After == 0 }
