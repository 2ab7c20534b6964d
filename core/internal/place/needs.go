package place

import (
	"slices"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// keptNeeds is how many needs are kept that nobody wants: most wants come again.
const keptNeeds = 64

// needKey tells rows of needs apart.
type needKey struct {
	set    string   // resource.Set.Key
	speaks Protocol // of the nodes that may have it; 0: all
}

// needOf returns the row of a need on nodes with a protocol, and counts a use of it.
func (m *Machine) needOf(set resource.Set, speaks Protocol) *need {
	key := needKey{set.Key(), speaks}
	d := m.needs[key]
	if d == nil {
		d = &need{key: key, set: set.Clone(), in: make([]bool, len(m.slots))}
		for _, n := range m.slots { // whether it fits is looked at when somebody wants to know
			if n != nil && n.takes() && d.talks(n) {
				d.in[n.slot] = true
				d.open = append(d.open, n)
			}
		}
		m.needs[key] = d
		m.list = append(m.list, d)
	} else if d.uses == 0 {
		m.unused = slices.DeleteFunc(m.unused, func(o *need) bool { return o == d })
	}
	d.uses++
	return d
}

// release ends a use of a need.
func (m *Machine) release(d *need) {
	if d.uses--; d.uses > 0 {
		return
	}
	m.unused = append(m.unused, d)
	if len(m.unused) <= keptNeeds {
		return
	}
	old := m.unused[0]
	m.unused = m.unused[1:]
	delete(m.needs, old.key)
	m.list = slices.DeleteFunc(m.list, func(o *need) bool { return o == old })
	m.pauses = slices.DeleteFunc(m.pauses, func(p pause) bool { return p.need == old })
	for _, n := range m.slots {
		if n != nil {
			delete(n.paused, old)
		}
	}
}

// talks reports whether the processes of a node can talk to those that want the need.
func (d *need) talks(n *node) bool { return d.key.speaks == 0 || d.key.speaks == n.speaks }

// isPossible reports whether a node could have the need if all were free, silent nodes included, and those with another protocol: nodes that
// have this one may come while a cluster is upgraded.
func (m *Machine) isPossible(d *need) bool {
	if d.shape != m.shape+1 {
		d.shape = m.shape + 1 // 0: never looked at
		d.possible = slices.ContainsFunc(m.slots, func(n *node) bool { return n != nil && n.ledger != nil && n.ledger.Could(d.set) })
	}
	return d.possible
}
