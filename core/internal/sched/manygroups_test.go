package sched

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// Many classes wait, each in a placement group of its own that is full. To look for leases to recall for them takes little for each, no matter how many
// leases and bundles there are: each request of a client has the machine look.
func TestRecall_ManyGroupsWait_CostsLittleForEach(t *testing.T) {
	const groups, cost = 100, 14
	l, err := resource.NewLedger(resource.Set{"CPU": groups * resource.Unit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := New(Options{Ledger: l, MaxStarts: groups, MaxIdle: groups})
	m.AddClient(1, ids.JobOf(1))
	for n := range groups {
		m.PrepareBundles(ids.JobOf(1), Bundles{Group: numberedGroup(n), Epoch: 1, Index: []int{0}, Needs: []resource.Set{{"CPU": resource.Unit}}})
		m.CommitBundles(numberedGroup(n), 1)
		in := strategy.Strategy{Kind: strategy.Group, Group: numberedGroup(n), Bundle: -1}
		need := resource.InBundle(resource.Set{"CPU": resource.Unit}, resource.BundleID{Group: numberedGroup(n).String(), Index: -1})
		m.DefineClass(1, Class{ID: ClassID(n), Need: need, Strategy: in})
		m.Want(1, ClassID(n), 2)
	}
	for len(m.leases) < groups {
		started := false
		for _, a := range m.Actions() {
			if w, is := a.(StartWorker); is {
				m.WorkerReady(w.Worker)
				started = true
			}
		}
		if !started {
			t.Fatalf("%d of %d leases", len(m.leases), groups)
		}
	}
	m.Advance(2 * RecallAfter)
	if len(m.waiting) != groups {
		t.Fatalf("%d of %d classes wait", len(m.waiting), groups)
	}
	if n := testing.AllocsPerRun(10, m.recall); n > groups*cost {
		t.Errorf("%.0f allocations for %d classes that wait and as many leases, want %d at most for each", n, groups, cost)
	}
}
