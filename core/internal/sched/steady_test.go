package sched

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// A program of days may ask for actors of ever other sizes.
func TestMachine_ActorsOfManyShapes_FewAreKept(t *testing.T) {
	ledger, err := resource.NewLedger(resource.Set{resource.CPU: 4 * resource.Unit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := New(Options{Ledger: ledger})
	job := ids.JobOf(1)
	m.AddJob(job, "")
	waiting := ActorID{Actor: ids.Actor{1}, Incarnation: 1}
	m.PlaceActor(waiting, job, Class{Need: resource.Set{"none": 7}, Name: "waits"}, nil, 0)
	for i := range 10 * keptShapes {
		id := ActorID{Actor: ids.Actor{2}, Incarnation: uint64(i + 1)}
		need := resource.Set{resource.CPU: resource.Amount(i + 1)}
		m.PlaceActor(id, job, Class{Need: need, Name: "A"}, need, 0)
		m.CancelActor(id)
	}
	if n := m.Sizes()["shapes"]; n > 2*keptShapes {
		t.Errorf("%d shapes are kept", n)
	}
	if !m.CancelActor(waiting) {
		t.Error("the actor that waits was forgotten")
	}
	if n := m.Sizes()["actors"]; n != 0 {
		t.Errorf("%d actors wait", n)
	}
}
