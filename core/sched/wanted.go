package sched

import "slices"

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
	free := m.ledger.Free()
	for _, l := range m.leases {
		if l.wanted || l.ending() {
			continue
		}
		yield := l.frees()
		for _, d := range m.waiting {
			if d == l.demand || d.outstanding() == 0 {
				continue
			}
			if slices.ContainsFunc(m.openChoices(d), func(c Choice) bool { return helps(yield, c.Need, free) }) {
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

// Move lets a lease serve another class of its holder that needs the same resources. The
// lease counts as one of those that the other class wants.
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
	m.Want(id, class, to.want-1) // a class that wants no lease still wants none then
}

// movable reports whether all leases of the class hold the same resources.
func (d *demand) movable() bool { return len(d.choices) == 1 && d.class.After == 0 }
