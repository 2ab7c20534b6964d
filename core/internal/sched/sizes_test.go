package sched

import (
	"fmt"
	"maps"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
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

func TestSizes_CountEachTable(t *testing.T) {
	l, err := resource.NewLedger(resource.Set{"CPU": resource.Unit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := New(Options{Ledger: l})
	m.AddClient(1, ids.JobOf(1))
	for id := range ClassID(3) {
		m.DefineClass(1, Class{ID: id})
	}
	m.PlaceActor(actorNumber(1), ids.JobOf(1), Class{Need: resource.Set{"CPU": resource.Unit}}, nil, 0)
	want := map[string]int{
		"jobs": 1, "clients": 1, "classes": 3, "shapes": 1, "actors": 1, "pools": 1, "reservations": 1, "workers": 1, "starting": 1,
		"leases": 0, "waiting": 0,
	}
	if got := m.Sizes(); !maps.Equal(got, want) {
		t.Errorf("sizes %v, want %v", got, want)
	}
}
