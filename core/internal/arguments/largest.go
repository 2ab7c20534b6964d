package arguments

import (
	"cmp"
	"slices"

	"github.com/eagleray/eagleray/core/internal/refs"
)

// mostLooked bounds how many arguments by reference are looked at.
const mostLooked = 64

// Largest returns the largest arguments that lie in a store, at most n, the largest first.
func (a *Arguments) Largest(n int) []*refs.Object {
	found := a.inStore()
	slices.SortStableFunc(found, func(x, y *refs.Object) int { return cmp.Compare(y.Size(), x.Size()) })
	return found[:min(n, len(found))]
}

// inStore returns the arguments that lie in a store, each once.
func (a *Arguments) inStore() (found []*refs.Object) {
	add := func(o *refs.Object) {
		if o.State() == refs.Stored && !slices.Contains(found, o) {
			found = append(found, o)
		}
	}
	if a.stored != nil {
		add(a.stored)
	}
	for _, o := range a.deps[:min(len(a.deps), mostLooked)] {
		add(o)
	}
	return found
}

// Home returns the node on which most bytes of the arguments in stores lie, as far as the table knows: own, the number of the own node, also if that has
// as many as another one; 0: there are no such arguments.
func (a *Arguments) Home(table *refs.Table, own uint32) uint32 {
	some, others := a.stored != nil, false
	for _, o := range a.deps[:min(len(a.deps), mostLooked)] {
		some = some || o.State() == refs.Stored
		others = others || home(table, o) != 0
	}
	switch {
	case !some:
		return 0
	case !others:
		return own
	}
	type part struct {
		node  uint32
		bytes uint64
	}
	parts := []part{{}}
	for _, o := range a.inStore() {
		node := home(table, o)
		i := slices.IndexFunc(parts, func(p part) bool { return p.node == node })
		if i < 0 {
			i = len(parts)
			parts = append(parts, part{node: node})
		}
		parts[i].bytes += o.Size()
	}
	if best := slices.MaxFunc(parts, func(x, y part) int { return cmp.Compare(x.bytes, y.bytes) }).node; best != 0 {
		return best
	}
	return own
}

// home is the other node on which an argument lies, 0 for the own node and for arguments that lie in no store.
func home(table *refs.Table, o *refs.Object) uint32 {
	if o.State() != refs.Stored || o.Copy() != nil {
		return 0
	}
	return table.Home(o)
}

// Came notes that the arguments in stores are on the own node from now on, because a task that takes them was sent to a worker there.
func (a *Arguments) Came(table *refs.Table) {
	for _, o := range a.deps[:min(len(a.deps), mostLooked)] {
		if o.State() == refs.Stored {
			table.SetHome(o, 0)
		}
	}
}
