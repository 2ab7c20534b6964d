package place

// decide makes all decisions that are possible now, and says them. Afterwards nothing more can be offered until the
// next event.
func (m *Machine) decide() {
	m.decideGroups()
	m.decideActors()
	m.judge()
	m.round++
	for {
		w := m.next()
		if w == nil {
			break
		}
		if n, choice := m.serve(w); n == nil {
			w.stuck = m.round
		} else {
			m.give(w, n, choice)
		}
	}
	for _, t := range m.fresh {
		m.emit(Offer{To: t.to, Node: t.node.id, N: t.n, Choice: t.choice, Ticket: t.id})
	}
	m.fresh = nil
	m.recall()
}

// next returns the want whose turn it is, nil if no want can be served. Whether it can is known when a node is chosen.
func (m *Machine) next() (best *want) {
	for _, d := range m.list {
		if len(d.open) == 0 {
			continue
		}
		for _, w := range d.wait {
			if w.stuck != m.round && (w.needs[0] == d || w.due > 0) && (best == nil || w.before(best)) {
				best = w
			}
		}
	}
	return best
}

// serve returns the node that gets the next lease of a want, and in which choice; nil if no node has room.
func (m *Machine) serve(w *want) (*node, int) {
	except := w.key.Node
	if w.home {
		except = 0
	}
	for i, d := range w.needs {
		if i > 0 && w.due == 0 {
			break
		}
		if n := m.choose(&wish{need: d, strategy: w.strategy, ranks: w.ranks, from: w.key.Node, except: except, near: w.near, late: m.isLate(w), given: w.given}); n != nil {
			return n, i
		}
	}
	return nil, 0
}

// give offers one more lease of a node to a want.
func (m *Machine) give(w *want, n *node, choice int) {
	t := m.freshTicket(w, n, choice)
	if !t.debit() {
		panic("place: the ledger refused what fits: " + t.need.key.set)
	}
	m.turn++
	w.job.served, w.client.served, w.served = m.turn, m.turn, m.turn
	w.offered++
	if w.given != nil {
		w.given[n.id]++
	}
	m.setLevel(w, w.level-1, max(w.due-1, 0))
	w.client.recalls = 0
	m.waitsAnew(w)
	if n.name == w.strategy.Node {
		m.patientAnew(w)
	}
}

// freshTicket returns the ticket of this decision for a want, a node and a choice.
func (m *Machine) freshTicket(w *want, n *node, choice int) *ticket {
	for _, t := range m.fresh {
		if t.to == w.key && t.node == n && t.choice == choice {
			return t
		}
	}
	t := &ticket{id: m.newTicket(), to: w.key, node: n, need: w.needs[choice], choice: choice, ends: m.now + m.o.TicketFor}
	m.open(t)
	m.fresh = append(m.fresh, t)
	return t
}

func (m *Machine) newTicket() Ticket {
	m.nextTicket++
	return m.nextTicket - 1
}

// open enters a ticket in the tables.
func (m *Machine) open(t *ticket) {
	if t.need != nil {
		t.need.uses++
	}
	t.node.tickets = append(t.node.tickets, t)
	m.tickets[t.id] = t
	m.expiring = append(m.expiring, t)
}
