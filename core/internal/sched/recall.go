package sched

import (
	"slices"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// recall asks holders to give leases back for wants that have waited for RecallAfter, and for those of guests, which have waited
// elsewhere. It counts on leases that were recalled before and on workers that are ending. It recalls a
// lease only from a holder that keeps more leases than the side that waits: compared are
// jobs, within a job clients, and within a client classes.
func (m *Machine) recall() {
	var ask []*demand
	for _, d := range m.waiting {
		d.coming = 0
		if (m.now >= d.since+RecallAfter || d.client.guest) && !m.isElsewhere(d) && slices.ContainsFunc(m.openChoices(d), func(c Choice) bool { return !c.Need.IsZero() }) {
			ask = append(ask, d)
		}
	}
	if len(ask) == 0 {
		return
	}
	held := m.recallables()
	if held == nil {
		return
	}
	soon := m.freeSoon(ask)
	// In the order of reserve: one lease each, in turn, until nothing fits.
	slices.SortStableFunc(ask, func(a, b *demand) int {
		switch {
		case a.servedBefore(b):
			return -1
		case b.servedBefore(a):
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
			// Nobody knows which choice will be free first, so leases are recalled for each.
			var coming resource.Set
			for _, c := range m.openChoices(d) {
				if c.Need.Fits(soon) || m.recallFor(d, c.Need, soon, held, gains) {
					coming = atLeast(c.Need, coming)
				}
			}
			if coming == nil {
				return true
			}
			soon.Sub(coming)
			gains[d]++
			d.coming++
			gains[d.client]++
			gains[d.client.job]++
			return false
		})
	}
}

// recallables are the leases that can be recalled now, and what they free. There may be many of them, and many demands that wait, such as one for each
// placement group: so what a lease frees is asked for once.
type recallables struct {
	leases []*lease
	frees  map[*lease]resource.Set
	all    resource.Set // what they free together
}

// recallables returns the leases that can be recalled now; nil if there are none.
func (m *Machine) recallables() *recallables {
	held := &recallables{frees: make(map[*lease]resource.Set), all: make(resource.Set)}
	for _, l := range m.leases {
		if m.recallable(l) {
			held.leases = append(held.leases, l)
			held.frees[l] = l.frees()
			held.all.Add(held.frees[l])
		}
	}
	if held.leases == nil {
		return nil
	}
	return held
}

// freeSoon returns what will be free, of that which is asked for, when every lease that is ending has ended.
func (m *Machine) freeSoon(ask []*demand) resource.Set {
	soon := make(resource.Set)
	for _, d := range ask {
		for _, c := range m.openChoices(d) {
			for name := range c.Need {
				soon[name] = m.ledger.FreeOf(name)
			}
		}
	}
	for _, l := range m.leases {
		if l.ending() {
			soon.Add(l.frees())
		}
	}
	return soon
}

// freeOf returns what is free of the names that a set has.
func (m *Machine) freeOf(s resource.Set) resource.Set {
	free := make(resource.Set, len(s))
	for name := range s {
		free[name] = m.ledger.FreeOf(name)
	}
	return free
}

func (m *Machine) recallable(l *lease) bool {
	return !l.ending() && m.now >= l.since+RecallAfter
}

// recallFor recalls leases until need, a choice of d, fits into soon. It recalls no lease if
// that is not possible.
func (m *Machine) recallFor(d *demand, need, soon resource.Set, held *recallables, gains map[any]int) bool {
	then := make(resource.Set, len(need)) // of soon, which may have the names of many bundles, only what matters here
	for name, n := range need {
		if n > max(soon[name], 0)+held.all[name] {
			return false
		}
		then[name] = soon[name]
	}
	var chosen []*lease
	taken := make(map[any]int)
	for !need.Fits(then) {
		var best *lease
		bestOver := 0
		for _, l := range held.leases {
			if !m.recallable(l) || slices.Contains(chosen, l) || !helps(held.frees[l], need, then) {
				continue
			}
			over := l.surplus(d, taken, gains)
			if over > bestOver || over == bestOver && over > 0 && l.id < best.id {
				best, bestOver = l, over
			}
		}
		if best == nil {
			return false
		}
		chosen = append(chosen, best)
		then.Add(held.frees[best])
		h := best.demand
		taken[h]++
		taken[h.client]++
		taken[h.client.job]++
	}
	for _, l := range chosen {
		l.recalled = true
		soon.Add(held.frees[l])
		m.uncount(l)
		m.emit(Recall{l.demand.client.id, l.id})
	}
	return true
}

// surplus returns how many leases the holder of l keeps beyond those that d's side has,
// counted for jobs, clients or classes, whichever is the first in which the two differ. The
// lease must not be recalled for d unless this is above 0.
func (l *lease) surplus(d *demand, taken, gains map[any]int) int {
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
