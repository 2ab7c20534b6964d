package sched

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// failInfeasible fails a class that even an idle node could not serve.
func (m *Machine) failInfeasible(d *demand) {
	if m.failInGroup(d) || m.failUnreachable(d) || m.o.WaitForFit || m.o.Cluster { // in a cluster the head says it
		return
	}
	if why := m.whyInfeasible(d, d.class.Name); why != "" {
		m.fail(d, why)
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
		best.allowed = max(0, best.allowed-1)
		best.served, best.client.served, best.client.job.served = m.turn, m.turn, m.turn
		if best.bundles != nil {
			m.prepared(best)
			continue
		}
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
			if r.actor.ticket != 0 {
				m.emit(Settled{r.actor.ticket, 1})
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

// fits reports whether need, which is one of d's choices, is free.
func (m *Machine) fits(d *demand, need resource.Set) bool {
	if m.drains {
		return false
	}
	if d.bundles != nil {
		return m.bundlesFit(d.bundles)
	}
	if d.rank < 0 {
		return false
	}
	if isCPULess(d, need) && m.cpuLess >= MaxCPULess {
		return false
	}
	return m.ledger.Fits(need)
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
				m.emit(ActorFailed{r.actor.id, fault.RuntimeEnvSetup, why, false})
			}
			for _, a := range d.queue {
				m.emit(ActorFailed{a.id, fault.RuntimeEnvSetup, why, false})
			}
		} else {
			m.emit(ClassFailed{d.client.id, d.class.ID, fault.RuntimeEnvSetup, why})
		}
		m.dropDemand(d)
		d.dropped = false
	}
}

// choose returns the first choice of d that can be taken now. It returns -1 if none can, if the head decides, or
// if a better one will be free in a moment: a worker that has used a device mostly ends after
// its task, and then the next task should get the device.
func (m *Machine) choose(d *demand) int {
	if d.allowed == 0 && m.headDecides(d) {
		return -1
	}
	open := m.openChoices(d)
	for i, c := range open {
		switch {
		case m.fits(d, c.Need) && !m.takesFromClaim(d, c.Need):
			return i
		case i < len(open)-1 && m.fitsSoon(c.Need):
			return -1
		}
	}
	return -1
}
