package sched

import (
	"time"

	"github.com/eagleray/eagleray/core/resource"
)

// A want for much would never be served while wants for little take every bit
// that is given back. One that has got nothing for ClaimAfter therefore claims
// what it needs: until it is served nothing of that goes to others, for
// ClaimFor at most, and then not again for ClaimRest.
const (
	ClaimAfter = 200 * time.Millisecond
	ClaimFor   = time.Second
	ClaimRest  = time.Second
)

// reviewClaim ends a claim that is over and begins the next.
func (m *Machine) reviewClaim() {
	if c := m.claim; c != nil && (!c.waits || c.fed > m.claimSince || m.now >= m.claimSince+ClaimFor || !m.reachable(c)) {
		if c.waits && c.fed <= m.claimSince {
			m.claimRest = m.now + ClaimRest
		}
		m.claim = nil
	}
	if m.claim != nil || m.now < m.claimRest {
		return
	}
	for _, d := range m.waiting {
		if m.now-max(d.since, d.fed) >= ClaimAfter && !m.ledger.Fits(d.class.Need) && m.reachable(d) &&
			(m.claim == nil || d.before(m.claim)) {
			m.claim, m.claimSince = d, m.now
		}
	}
}

// reachable reports whether d would fit when all leases were over. Actors are
// not waited for.
func (m *Machine) reachable(d *demand) bool {
	then := m.ledger.Free()
	for _, l := range m.leases {
		then.Add(l.yield())
	}
	for _, p := range m.pools {
		for _, r := range p.queue {
			then.Add(r.hold.Resources())
			if r.extra != nil {
				then.Add(r.extra.Resources())
			}
		}
	}
	return d.class.Need.Fits(then)
}

// claimed reports whether serving d would take what the claim waits for.
func (m *Machine) claimed(d *demand) bool {
	if m.claim == nil || m.claim == d {
		return false
	}
	var free resource.Set
	for name, n := range d.class.Need {
		if c := m.claim.class.Need[name]; n > 0 && c > 0 {
			if free == nil {
				free = m.ledger.Free()
			}
			if free[name]-n < c {
				return true
			}
		}
	}
	return false
}

// claimEnds returns when the claim is over at the latest.
func (m *Machine) claimEnds() (time.Duration, bool) {
	if m.claim == nil {
		return 0, false
	}
	return m.claimSince + ClaimFor, true
}
