package place

// Drain says whether a node gets no new work because it leaves the cluster. What its processes want stays.
func (m *Machine) Drain(id Node, drains bool) {
	n := m.nodes[id]
	if n == nil || n.drains == drains {
		return
	}
	n.drains = drains
	if !drains {
		m.grown(n)
		m.decide()
		return
	}
	for _, d := range m.list {
		d.remove(n)
	}
	m.groupsLose(id)
	m.decide()
}

// IsUsed reports whether some of what a node has is in use or is offered to somebody, as far as the machine knows.
func (m *Machine) IsUsed(id Node) bool {
	n := m.nodes[id]
	return n != nil && n.ledger != nil && (len(n.tickets) > 0 || n.actors > 0 || len(n.ledger.Bundles()) > 0 || !n.ledger.PlainFree().Equal(n.ledger.Plain()))
}
