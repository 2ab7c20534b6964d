package sched

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// A want that needs much would never be served while wants that need little take every
// bit that is given back. A want that has got nothing for ClaimAfter therefore claims what
// it needs: until it is served, nothing of that goes to wants that were served later. The
// claim lasts for ClaimFor at most, and the next claim begins ClaimPause later. A want that
// was served longer ago keeps its turn: it is served once, and then stands behind the claim.
const (
	ClaimAfter = 200 * time.Millisecond
	ClaimFor   = time.Second
	ClaimPause = time.Second
)

// reviewClaim ends a claim that is over and begins the next.
func (m *Machine) reviewClaim() {
	if c := m.claim; c != nil && (!c.waits || c.reservedAt > m.claimSince || m.now >= m.claimSince+ClaimFor || len(m.reachable(c)) == 0) {
		if c.waits && c.reservedAt <= m.claimSince {
			m.noClaimBefore = m.now + ClaimPause
		}
		m.claim = nil
	}
	if m.claim == nil && m.now >= m.noClaimBefore {
		for _, d := range m.waiting {
			if m.now-max(d.since, d.reservedAt) >= ClaimAfter && !m.isElsewhere(d) && !m.fitsAny(d) && (m.claim == nil || d.servedBefore(m.claim)) &&
				len(m.reachable(d)) > 0 {
				m.claim, m.claimSince = d, m.now
			}
		}
	}
	m.claimNeeds = nil
	if m.claim != nil {
		m.claimNeeds = m.reachable(m.claim)
	}
}

// fitsAny reports whether a choice of d, which waits, is free.
func (m *Machine) fitsAny(d *demand) bool {
	if d.bundles != nil {
		return m.bundlesFit(d.bundles)
	}
	return slices.ContainsFunc(m.openChoices(d), func(c Choice) bool { return m.ledger.Fits(c.Need) })
}

// reachable returns the choices of d that would fit if all leases ended. The ends of
// actors are not counted on.
func (m *Machine) reachable(d *demand) (needs []resource.Set) {
	then := m.freeForAll(d)
	for _, l := range m.leases {
		then.Add(l.frees())
	}
	for _, p := range m.pools {
		for _, r := range p.queue {
			then.Add(r.hold.Frees())
			if r.extra != nil {
				then.Add(r.extra.Frees())
			}
		}
	}
	for _, c := range m.openChoices(d) {
		if c.Need.Fits(then) {
			needs = append(needs, c.Need)
		}
	}
	return needs
}

// takesFromClaim reports whether serving d in this choice would take what the claim waits for.
func (m *Machine) takesFromClaim(d *demand, need resource.Set) bool {
	if m.claim == nil || m.claim == d || d.servedBefore(m.claim) {
		return false
	}
	var free resource.Set
	need = m.ledger.Weigh(need)
	for _, claim := range m.claimNeeds {
		claim = m.ledger.Weigh(claim)
		for name, n := range need {
			if c := claim[name]; n > 0 && c > 0 {
				if free == nil {
					free = m.freeFor(need)
				}
				if free[name]-n < c {
					return true
				}
			}
		}
	}
	return false
}

// claimEnds returns when the claim is over at the latest.
func (m *Machine) claimEnds() (at time.Duration, active bool) {
	return m.claimSince + ClaimFor, m.claim != nil
}
