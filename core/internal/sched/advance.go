package sched

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/strategy"
)

// Advance tells the time since the machine's start.
func (m *Machine) Advance(now time.Duration) {
	changed := m.alternativesOpenBy(now) || m.headIsLate(now) || m.guestsLate(now)
	if now > m.now {
		m.now = now
	}
	m.expireIdle()
	m.stopUnneeded()
	changed = m.refuseBundles() || changed // what they have claimed is for others
	m.stopDropped()
	m.trim()
	changed = m.failBusy() || changed
	if at, ok := m.claimEnds(); changed || ok && m.now >= at {
		m.reschedule()
		return
	}
	m.recall()
	m.overflow()
}

// Next returns when Advance must be called at the latest, false when only
// events can change anything.
func (m *Machine) Next() (time.Duration, bool) {
	var at time.Duration
	ok := false
	sooner := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	for _, p := range m.pools {
		patience := IdleTimeout
		if p.job.idle > m.o.MaxIdle {
			patience = SurplusFor
		}
		for _, w := range p.idle {
			sooner(w.idleSince + patience)
		}
		if w, at := p.unneeded(); w != nil {
			sooner(at)
		}
	}
	for _, w := range m.dropped {
		sooner(w.dropAt)
	}
	for _, d := range m.waiting {
		if t := d.since + RecallAfter; t > m.now {
			sooner(t)
		}
		if m.failsBusy(d) {
			sooner(d.busySince() + strategy.Patience)
		}
		if t := d.since + strategy.Patience; m.spillsFrom(d) && t > m.now {
			sooner(t)
		}
		if d.client.guest || d.bundles != nil && d.bundles.For > 0 {
			sooner(d.stays)
		}
		if d.room && m.headDecides(d) {
			sooner(d.roomSince + m.o.HeadPatience)
		}
		if t, later := m.alternativesFrom(d); later {
			if d.isActor() {
				sooner(t)
			}
		} else if len(d.choices) > 1 {
			for w := range m.leaving() {
				sooner(w.endSince + LeavingFor)
			}
		}
	}
	if t, ok := m.claimEnds(); ok {
		sooner(t)
	}
	if len(m.waiting) > 0 {
		for _, l := range m.leases {
			if t := l.since + RecallAfter; t > m.now && !l.ending() {
				sooner(t)
			}
		}
	}
	return at, ok
}
