package sched

import (
	"fmt"
	"testing"
)

// Shapes that no actor waits in are forgotten when there are many, and those
// in which one waits, holds a reservation or has a turn are not.
func TestTrimShapes_OnlyWhenMany_OnlyIdleOnes(t *testing.T) {
	kept := map[string]*demand{"wanted": {want: 1}, "reserved": {reserved: make([]*reservation, 1)}, "waits": {waits: true}}
	fill := func(n int) *job {
		j := &job{actors: map[string]*demand{}}
		for name, d := range kept {
			j.actors[name] = d
		}
		for i := range n - len(kept) {
			j.actors[fmt.Sprint(i)] = &demand{}
		}
		return j
	}
	few := fill(2*keptShapes - 1)
	if few.trimShapes(); len(few.actors) != 2*keptShapes-1 {
		t.Errorf("%d of %d shapes are left", len(few.actors), 2*keptShapes-1)
	}
	many := fill(2 * keptShapes)
	if many.trimShapes(); len(many.actors) != len(kept) {
		t.Errorf("%d of %d shapes are left, want the %d in use", len(many.actors), 2*keptShapes, len(kept))
	}
	for name := range kept {
		if many.actors[name] == nil {
			t.Errorf("the shape %q is forgotten", name)
		}
	}
}
