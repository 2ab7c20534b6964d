package sched

import "slices"

// A lease that has nothing to do stays with its holder for a moment, for there
// may be another task of its class soon. While somebody else waits that would
// leave resources unused: holders are told so, at once and once per lease. What
// they use is theirs all the same, until it is recalled.

// tell lets the holders of what the waiting demands lack know of them.
func (m *Machine) tell() {
	if len(m.waiting) == 0 {
		return
	}
	var told []*lease
	free := m.ledger.Free()
	for _, l := range m.leases {
		if l.wanted || l.ending() {
			continue
		}
		yield := l.yield()
		for _, d := range m.waiting {
			if d == l.demand || d.outstanding() == 0 {
				continue
			}
			if slices.ContainsFunc(m.open(d), func(c Choice) bool { return helps(yield, c.Need, free) }) {
				told = append(told, l)
				break
			}
		}
	}
	slices.SortFunc(told, func(a, b *lease) int { return int(a.id) - int(b.id) })
	for _, l := range told {
		l.wanted = true
		m.emit(Wanted{l.demand.client.id, l.id})
	}
}

// Move lets a lease serve another class of its holder's that needs the same. It
// counts as one of the leases which that class wants.
func (m *Machine) Move(id ClientID, lid LeaseID, class ClassID) {
	l := m.leases[lid]
	if l == nil || l.exiting || l.demand.client.id != id {
		return
	}
	from, to := l.demand, l.demand.client.classes[class]
	if to == nil || to == from || !from.movable() || !to.movable() || from.pool != to.pool || from.class.Need.Key() != to.class.Need.Key() {
		return
	}
	if !l.recalled {
		from.leases--
		to.leases++
	}
	l.demand = to
	from.forget()
	m.Want(id, class, to.want-1) // of a class that wants none this is none, too
}

// movable reports whether all leases of the class hold the same.
func (d *demand) movable() bool { return len(d.choices) == 1 && d.class.After == 0 }
