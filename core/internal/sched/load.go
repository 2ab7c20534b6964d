package sched

import (
	"maps"
	"slices"

	"github.com/eagleray/eagleray/core/internal/resource"
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

// Demand is what waits for a worker, and the resources that it counts as. A class or an
// actor with alternatives counts as its first choice while that is waited for alone, and
// after that as the first choice that the node could ever give.
type Demand struct {
	Name string
	Need resource.Set
	N    int
}

// Demands lists what waits for resources, the longest waiting class first.
func (m *Machine) Demands() []Demand {
	var all []Demand
	for _, d := range m.waiting {
		all = append(all, Demand{d.class.Name, m.countsAs(d).Need.Clone(), d.outstanding()})
	}
	return all
}

// Totals returns what the node has, Free what of it is free.
func (m *Machine) Totals() resource.Set { return m.ledger.Totals() }

// Free returns what is free; a name's amount may be negative.
func (m *Machine) Free() resource.Set { return m.ledger.Free() }

// Stock returns what the node has, and what of it is free.
func (m *Machine) Stock() resource.Stock { return m.ledger.Stock() }

// StockChanges counts the changes of what Stock returns.
func (m *Machine) StockChanges() uint64 { return m.ledger.Changes() }

// LargestGPU returns the bytes of the GPU with the most memory, 0 where none is known.
func (m *Machine) LargestGPU() int64 { return m.ledger.LargestGPU() }

// SetGPUMemory says how many bytes the node's GPUs have, by device id. Wants that need
// memory of GPUs wait until this is known.
func (m *Machine) SetGPUMemory(bytes map[string]int64) error {
	if err := m.ledger.SetGPUMemory(bytes); err != nil {
		return err
	}
	m.reschedule()
	return nil
}

func sortedNames(s resource.Set) []string { return slices.Sorted(maps.Keys(s)) }
