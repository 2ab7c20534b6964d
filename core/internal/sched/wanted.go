package sched

import (
	"cmp"
	"slices"
)

// A holder keeps a lease that has nothing to do for a moment, because the next task of the
// class may come soon. While others wait, that leaves resources unused. So the holder is told
// at once that others wait for what the lease holds, once per lease (the action Wanted). A
// lease that is in use stays with its holder until it is recalled.

// notifyHolders tells the holders of what the waiting demands lack that others wait for it.
func (m *Machine) notifyHolders() {
	if len(m.waiting) == 0 {
		return
	}
	var told []*lease
	for _, l := range m.leases {
		if l.wanted || l.ending() {
			continue
		}
		yield := l.frees()
		free := m.freeOf(yield)
		for _, d := range m.waiting {
			if d == l.demand || d.outstanding() == 0 || m.isElsewhere(d) {
				continue
			}
			if slices.ContainsFunc(m.openChoices(d), func(c Choice) bool { return helps(yield, c.Need, free) }) {
				told = append(told, l)
				break
			}
		}
	}
	slices.SortFunc(told, func(a, b *lease) int { return cmp.Compare(a.id, b.id) })
	for _, l := range told {
		l.wanted = true
		m.emit(Wanted{l.demand.client.id, l.id})
	}
}
