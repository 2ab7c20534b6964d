package sched

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// BenchmarkReturn_NodeHasBundles is what the return of a lease costs, while more leases are wanted, on a node with bundles of placement groups.
func BenchmarkReturn_NodeHasBundles(b *testing.B) {
	for _, bundles := range []int{0, 100, 1000} {
		b.Run(fmt.Sprint(bundles), func(b *testing.B) {
			l, err := resource.NewLedger(resource.Set{"CPU": resource.FromInt(int64(bundles + 2))}, nil)
			if err != nil {
				b.Fatal(err)
			}
			m := New(Options{Ledger: l, MaxStarts: 4, MaxIdle: 4})
			for i := range bundles {
				id := numberedGroup(i)
				m.PrepareBundles(ids.JobOf(1), Bundles{Group: id, Epoch: 1, Index: []int{0}, Needs: []resource.Set{{"CPU": resource.Unit}}})
				m.CommitBundles(id, 1)
			}
			m.AddClient(1, ids.JobOf(1))
			m.DefineClass(1, Class{ID: 1, Need: resource.Set{"CPU": resource.Unit}, Name: "f"})
			m.Want(1, 1, 3)
			for _, a := range m.Actions() {
				if s, ok := a.(StartWorker); ok {
					m.WorkerReady(s.Worker)
				}
			}
			var held []LeaseID
			take := func() {
				for _, a := range m.Actions() {
					if g, ok := a.(Grant); ok {
						held = append(held, g.Lease)
					}
				}
			}
			take()
			for b.Loop() {
				m.Return(1, held[0], false, false)
				held = held[1:]
				take()
				m.Want(1, 1, 1)
				take()
			}
		})
	}
}
