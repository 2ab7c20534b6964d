package sched

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/resource"
)

// reschedule draws all consequences of an event: afterwards nothing more can be granted
// until the next event.
func (m *Machine) reschedule() {
	m.reviewClaim()
	m.reserve()
	for m.match() { // an actor has a worker, and what it needed only to be placed is free again
		m.reserve()
	}
	m.trim()
	m.orderSpares()
	m.order()
	m.recall()
	m.notifyHolders()
	m.forget()
}

// forget drops what is left of ended jobs, pools and jobs, once no process of the job is
// left.
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

func (m *Machine) jobOf(id ids.Job) *job {
	j := m.jobs[id]
	if j == nil {
		j = &job{id: id, actors: make(map[string]*demand)}
		j.queue.job = j
		m.jobs[id] = j
	}
	return j
}

// outstanding returns how many wants have no resources yet.
func (d *demand) outstanding() int { return d.want - len(d.reserved) }

// updateWaiting puts d into the list of waiting demands, or takes d out of it.
func (m *Machine) updateWaiting(d *demand) {
	if waits := d.outstanding() > 0 && !d.dropped; waits != d.waits {
		d.waits = waits
		if waits {
			d.since = m.now
			m.waiting = append(m.waiting, d)
		} else {
			m.waiting = slices.DeleteFunc(m.waiting, func(o *demand) bool { return o == d })
		}
	}
}

// failInfeasible fails a class that even an idle node could not serve.
func (m *Machine) failInfeasible(d *demand) {
	if m.o.WaitForFit {
		return
	}
	if why := m.whyInfeasible(d, d.class.Name); why != "" {
		d.want = len(d.reserved)
		m.updateWaiting(d)
		m.emit(ClassFailed{d.client.id, d.class.ID, fault.TaskUnschedulable, why})
	}
}

// reserve takes resources for waiting wants until none of them fits. Jobs, clients and
// classes that were served longest ago come first.
func (m *Machine) reserve() {
	for {
		var best *demand
		choice := -1
		for _, d := range m.waiting {
			if best != nil && !d.servedBefore(best) {
				continue
			}
			if i := m.choose(d); i >= 0 {
				best, choice = d, i
			}
		}
		if best == nil {
			return
		}
		m.turn++
		best.reservedAt = m.now
		if best == m.claim {
			m.claim, m.claimNeeds = nil, nil
		}
		best.served, best.client.served, best.client.job.served = m.turn, m.turn, m.turn
		r := &reservation{demand: best, choice: choice}
		c := best.choices[choice]
		if best.isActor() {
			r.actor = best.queue[0]
			best.queue = best.queue[1:]
			extra := c.Need.Clone()
			extra.Sub(c.Run)
			r.hold = m.take(c.Run)
			if !extra.IsZero() {
				r.extra = m.take(extra)
			}
			m.noteActorReserved(best.pool, devicesKey(r.hold) != "")
		} else {
			r.hold = m.take(c.Need)
			if r.cpuLess = isCPULess(best, c.Need); r.cpuLess {
				m.cpuLess++
			}
		}
		best.reserved = append(best.reserved, r)
		best.pool.queue = append(best.pool.queue, r)
		m.updateWaiting(best)
	}
}

// take acquires resources that are known to fit.
func (m *Machine) take(need resource.Set) *resource.Allocation {
	a, ok := m.ledger.Acquire(need)
	if !ok {
		panic("sched: the ledger refused what fits: " + need.String())
	}
	return a
}

// atLeast returns the larger amount of each name.
func atLeast(need, run resource.Set) resource.Set {
	s := need.Clone()
	for name, n := range run {
		s[name] = max(s[name], n)
	}
	return s
}

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

// fits reports whether need, which is one of d's choices, is free.
func (m *Machine) fits(d *demand, need resource.Set) bool {
	if isCPULess(d, need) && m.cpuLess >= MaxCPULess {
		return false
	}
	return m.ledger.Fits(need)
}

// isCPULess reports whether d's tasks need next to no CPU in this choice.
func isCPULess(d *demand, need resource.Set) bool {
	return !d.isActor() && need[resource.CPU] < MinCPU
}

func (d *demand) isActor() bool { return d.client.classes == nil }

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

// failPool fails everything that waits for a worker of p.
func (m *Machine) failPool(p *pool, why string) {
	var failed []*demand
	add := func(d *demand) {
		if d.pool == p && !slices.Contains(failed, d) {
			failed = append(failed, d)
		}
	}
	for _, r := range p.queue {
		add(r.demand)
	}
	for _, d := range m.waiting {
		add(d)
	}
	for _, d := range failed {
		if d.isActor() {
			for _, r := range d.reserved {
				m.emit(ActorFailed{r.actor.id, fault.RuntimeEnvSetup, why})
			}
			for _, a := range d.queue {
				m.emit(ActorFailed{a.id, fault.RuntimeEnvSetup, why})
			}
		} else {
			m.emit(ClassFailed{d.client.id, d.class.ID, fault.RuntimeEnvSetup, why})
		}
		m.dropDemand(d)
		d.dropped = false
	}
}
