package place

import (
	"fmt"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// BenchmarkDecide offers one lease and settles it, in a cluster that is half full: what a decision costs the head. In
// one form the wants fit, in the other so many others wait that fit nowhere.
func BenchmarkDecide(b *testing.B) {
	for _, nodes := range []int{10, 200, 2000} {
		for _, waiting := range []int{0, 1000} {
			b.Run(fmt.Sprintf("nodes=%d/waiting=%d", nodes, waiting), func(b *testing.B) {
				m := New(Options{})
				stock := resource.Stock{Totals: resource.Set{"CPU": 64 * resource.Unit, "memory": 256 << 30 * resource.Unit, "node:192.0.2.1": resource.Unit}}
				for n := range nodes {
					m.NodeUp(Node(n + 1))
					stock.Free = stock.Totals.Clone()
					stock.Free["CPU"] -= resource.FromInt(int64(n % 64))
					if err := m.Report(Node(n+1), stock); err != nil {
						b.Fatal(err)
					}
				}
				m.NodeUp(Node(nodes + 1))
				for i := range waiting {
					need := resource.Set{"CPU": 64 * resource.Unit, "memory": resource.FromInt(int64(300<<30 + i%10))}
					say(b, m, Key{Node(nodes + 1), uint64(i%100 + 1), uint32(1000 + i)}, Want{Job: ids.JobOf(uint32(i % 7)), Name: "g", Needs: []resource.Set{need}, N: 5})
				}
				need := []resource.Set{{"CPU": resource.Unit}}
				m.Actions()
				var at time.Duration
				for i := 0; b.Loop(); i++ {
					k := Key{Node(nodes + 1), uint64(i%50 + 1), uint32(i % 20)}
					say(b, m, k, Want{Job: ids.JobOf(uint32(i % 7)), Name: "f", Needs: need, N: 1})
					offers := m.Actions()
					if len(offers) != 1 {
						b.Fatal(offers)
					}
					o := offers[0].(Offer)
					at += 10 * time.Microsecond
					m.Advance(at)
					if err := m.Settled(o.Node, o.Ticket, 1, nil); err != nil {
						b.Fatal(err)
					}
					say(b, m, k, Want{Job: ids.JobOf(uint32(i % 7)), Name: "f", Needs: need, Offered: 1})
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
			})
		}
	}
}

func say(b *testing.B, m *Machine, k Key, w Want) {
	if err := m.Want(k, w); err != nil {
		b.Fatal(err)
	}
}
