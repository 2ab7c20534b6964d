package sched

import "slices"

// reschedule draws all consequences of an event: afterwards nothing more can be granted
// until the next event.
func (m *Machine) reschedule() {
	m.reviewClaim()
	m.reserve()
	for m.match() { // an actor has a worker, and what it needed only to be placed is free again
		m.reserve()
	}
	m.refuseGuests()
	m.trim()
	m.orderSpares()
	m.order()
	m.recallAll()
	m.recall()
	m.notifyHolders()
	m.overflow()
	m.forget()
}

// forget drops ended jobs, with their pools, of which no process is left.
func (m *Machine) forget() {
	if !m.ending {
		return
	}
	m.ending = false
	live := make(map[*job]bool)
	for _, w := range m.workers {
		live[w.pool.job] = true
	}
	for _, c := range m.clients {
		live[c.job] = true
	}
	for _, d := range m.actors {
		live[d.client.job] = true
	}
	m.pools = slices.DeleteFunc(m.pools, func(p *pool) bool { return p.job.ended && !live[p.job] })
	for id, j := range m.jobs {
		if j.ended && !live[j] {
			delete(m.jobs, id)
		} else if j.ended {
			m.ending = true
		}
	}
}
