package arguments

import (
	"cmp"
	"slices"

	"github.com/eagleray/eagleray/core/internal/refs"
)

// Largest returns the ids of the largest arguments that lie in a store, at most n, the largest first.
func (a *Arguments) Largest(n int) (list [][]byte) {
	if !a.Takes() {
		return nil
	}
	var found []*refs.Object
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
	slices.SortStableFunc(found, func(x, y *refs.Object) int { return cmp.Compare(y.Size(), x.Size()) })
	for _, o := range found[:min(n, len(found))] {
		list = append(list, o.ID.Raw())
	}
	return list
}

// mostLooked bounds how many arguments by reference are looked at.
const mostLooked = 64
