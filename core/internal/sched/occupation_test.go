package sched

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

func TestOccupation_IdleLeasedActorGone(t *testing.T) {
	ledger, err := resource.NewLedger(resource.Set{resource.CPU: 2 * resource.Unit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := New(Options{Ledger: ledger, MaxIdle: 2, MaxStarts: 2})
	job := ids.JobOf(1)
	m.AddJob(job, "e")
	m.AddClient(1, job)
	start := m.Actions()[0].(StartWorker)
	if _, ok := m.Occupation(start.Worker); ok {
		t.Error("one that is being started has an occupation")
	}
	m.WorkerReady(start.Worker)
	if o, ok := m.Occupation(start.Worker); !ok || !o.Idle {
		t.Errorf("idle: %+v, %v", o, ok)
	}
	m.DefineClass(1, Class{ID: 7, Need: resource.Set{resource.CPU: resource.Unit}, Env: "e", Name: "f"})
	m.Advance(5)
	m.Want(1, 7, 1)
	g := m.Actions()[0].(Grant)
	if o, ok := m.Occupation(g.Worker); !ok || o.Idle || o.Client != 1 || o.Name != "f" || o.Since != 5 {
		t.Errorf("leased: %+v, %v", o, ok)
	}
	m.StopIdle(g.Worker)
	if as := m.Actions(); len(as) != 0 {
		t.Errorf("a leased worker was stopped: %v", as)
	}
	m.Return(1, g.Lease, false, false)
	m.StopIdle(g.Worker)
	if as := m.Actions(); len(as) != 1 || as[0] != (StopWorker{g.Worker}) {
		t.Errorf("%v, want the idle worker stopped", as)
	}
	if o, ok := m.Occupation(g.Worker); !ok || !o.Ending || o.Name != "" {
		t.Errorf("ending: %+v, %v", o, ok)
	}
	m.StopIdle(99)
	if _, ok := m.Occupation(99); ok {
		t.Error("one that nobody knows has an occupation")
	}
}
