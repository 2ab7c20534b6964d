package sched

import (
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/resource"
)

// Pending counts the wants that have no worker yet by class name.
func (m *Machine) Pending() map[string]int {
	n := make(map[string]int)
	for _, c := range m.clients {
		for _, d := range c.classes {
			if d.want > 0 {
				n[d.class.Name] += d.want
			}
		}
	}
	for _, j := range m.jobs {
		for _, d := range j.actors {
			if d.want > 0 {
				n[d.class.Name] += d.want
			}
		}
	}
	return n
}

// Totals returns what the node has, Free what of it is free.
func (m *Machine) Totals() resource.Set { return m.ledger.Totals() }

// Free returns what is free; a name's amount may be negative.
func (m *Machine) Free() resource.Set { return m.ledger.Free() }

func sortedNames(s resource.Set) []string { return slices.Sorted(maps.Keys(s)) }
