package sched

import (
	"slices"

	"github.com/eagleray/eagleray/core/resource"
)

// recall asks holders to give leases back to wants that have waited for
// RecallAfter. It counts on what was recalled before and on workers that are
// ending, and takes from a holder only while it keeps more leases than the one
// who waits: between jobs, within a job between clients, within a client
// between classes.
func (m *Machine) recall() {
	var ask []*demand
	for _, d := range m.waiting {
		if m.now >= d.since+RecallAfter && slices.ContainsFunc(m.open(d), func(c Choice) bool { return !c.Need.IsZero() }) {
			ask = append(ask, d)
		}
	}
	if len(ask) == 0 {
		return
	}
	soon := m.expected()
	if soon == nil {
		return
	}
	// As reserve will do it: one lease each, in turn, until nothing fits.
	slices.SortStableFunc(ask, func(a, b *demand) int {
		switch {
		case a.before(b):
			return -1
		case b.before(a):
			return 1
		}
		return 0
	})
	gains := make(map[any]int) // leases that those who wait will have got by then
	for len(ask) > 0 {
		ask = slices.DeleteFunc(ask, func(d *demand) bool {
			if gains[d] == d.outstanding() {
				return true
			}
			// Nobody knows what comes first: each choice is asked for.
			var coming resource.Set
			for _, c := range m.open(d) {
				if c.Need.Fits(soon) || m.recallFor(d, c.Need, soon, gains) {
					coming = atLeast(c.Need, coming)
				}
			}
			if coming == nil {
				return true
			}
			soon.Sub(coming)
			gains[d]++
			gains[d.client]++
			gains[d.client.job]++
			return false
		})
	}
}

// expected returns what will be free when every lease that is ending is over,
// nil when no lease can be recalled now.
func (m *Machine) expected() resource.Set {
	left := false
	for _, l := range m.leases {
		left = left || m.recallable(l)
	}
	if !left {
		return nil
	}
	soon := m.ledger.Free()
	for _, l := range m.leases {
		if l.ending() {
			soon.Add(l.yield())
		}
	}
	return soon
}

func (m *Machine) recallable(l *lease) bool {
	return !l.ending() && m.now >= l.since+RecallAfter
}

func (l *lease) ending() bool { return l.recalled || l.exiting }

// yield is what the end of the lease frees.
func (l *lease) yield() resource.Set {
	s := l.worker.hold.Frees()
	if l.worker.blocked {
		delete(s, resource.CPU)
	}
	return s
}

// recallFor recalls what lets d's need, in one of its choices, fit into soon,
// all or nothing.
func (m *Machine) recallFor(d *demand, need, soon resource.Set, gains map[any]int) bool {
	then := soon.Clone()
	var chosen []*lease
	taken := make(map[any]int)
	for !need.Fits(then) {
		var best *lease
		bestOver := 0
		for _, l := range m.leases {
			if !m.recallable(l) || slices.Contains(chosen, l) || !helps(l.yield(), need, then) {
				continue
			}
			over := l.over(d, taken, gains)
			if over > bestOver || over == bestOver && over > 0 && l.id < best.id {
				best, bestOver = l, over
			}
		}
		if best == nil {
			return false
		}
		chosen = append(chosen, best)
		then.Add(best.yield())
		h := best.demand
		taken[h]++
		taken[h.client]++
		taken[h.client.job]++
	}
	for _, l := range chosen {
		l.recalled = true
		soon.Add(l.yield())
		m.uncount(l)
		m.emit(Recall{l.demand.client.id, l.id})
	}
	return true
}

// helps reports whether some of what is short would come. Of what is overdrawn
// nothing is short for those who need none of it.
func helps(yield, need, have resource.Set) bool {
	for name, n := range yield {
		if n > 0 && need[name] > max(have[name], 0) {
			return true
		}
	}
	return false
}

// over is how many leases more the holder of l keeps than d's side has, at the
// level where the two differ; not above 0 when it must not be taken.
func (l *lease) over(d *demand, taken, gains map[any]int) int {
	h := l.demand
	switch {
	case h.client.job != d.client.job:
		return h.client.job.leases - taken[h.client.job] - d.client.job.leases - gains[d.client.job]
	case h.client != d.client:
		return h.client.leases - taken[h.client] - d.client.leases - gains[d.client]
	default:
		return h.leases - taken[h] - d.leases - gains[d]
	}
}

// uncount takes a lease out of the numbers that its holders keep.
func (m *Machine) uncount(l *lease) {
	d := l.demand
	d.leases--
	d.client.leases--
	d.client.job.leases--
	d.forget()
}
