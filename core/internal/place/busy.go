package place

import (
	"cmp"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// A want that names a node may ask to be served by another node, or to fail, when its node has no room for it (strategy.Busy). It waits for
// strategy.Patience first. What names its own node has waited there already. An actor that spills waits in the queue of its node for MoveAfter, and
// an actor that fails is ended by its node.

// patientAnew notes that a want begins to wait for the node that it names.
func (m *Machine) patientAnew(w *want) {
	if w.strategy.Busy == strategy.Waits {
		return
	}
	w.patient = m.now
	if at := m.now + strategy.Patience; m.busyAt == 0 || at < m.busyAt {
		m.busyAt = at
	}
}

// isLate reports whether a want that spills or fails has waited for the node that it names for long enough.
func (m *Machine) isLate(w *want) bool {
	return w.strategy.Busy != strategy.Waits && m.now >= w.patient+strategy.Patience
}

// hears reports whether what a node has free is known.
func (m *Machine) hears(name ids.Node) bool {
	n := m.named[name]
	return n != nil && n.takes()
}

// busyEnds fails the wants that do not wait for their nodes any longer, and notes when to look again.
func (m *Machine) busyEnds() {
	if m.busyAt == 0 || m.now < m.busyAt {
		return
	}
	m.busyAt = 0
	var fails []*want
	for _, w := range m.wants {
		switch {
		case w.strategy.Busy == strategy.Waits || w.level == 0:
		case w.strategy.Busy == strategy.Fails && !m.hears(w.strategy.Node):
			m.patientAnew(w) // whether there is room is not known
		case !m.isLate(w):
			if at := w.patient + strategy.Patience; m.busyAt == 0 || at < m.busyAt {
				m.busyAt = at
			}
		case w.strategy.Busy == strategy.Fails && !w.told:
			fails = append(fails, w)
		}
	}
	slices.SortFunc(fails, func(a, b *want) int { return cmp.Compare(a.since, b.since) })
	for _, w := range fails {
		w.told = true
		m.emit(Infeasible{w.key, w.strategy.WhyBusy("task "+w.name, w.needs[0].set.String()), true})
	}
}
