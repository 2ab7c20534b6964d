package dir

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// BenchmarkDir_ResultOfAnotherNode is the life of a result that one node writes and another one reads, among so many others.
func BenchmarkDir_ResultOfAnotherNode(b *testing.B) {
	for name, others := range map[string]int{"alone": 0, "among 100,000": 100_000} {
		b.Run(name, func(b *testing.B) {
			d := New()
			owner := processOf(1)
			for i := range others {
				id := ids.NewObject(uint64(i), owner, ids.JobOf(1), 1)
				d.Made(id, 1, 1<<20, 2)
				d.Has(id, 1, 2)
			}
			b.ReportAllocs()
			for i := range b.N {
				id, v := ids.NewObject(uint64(others+i), owner, ids.JobOf(1), 1), Version(i+1)
				d.Made(id, v, 1<<20, 2)
				d.Has(id, v, 2)
				d.Where(id, 3, 1)
				d.Has(id, v, 3)
				d.Freed(id)
				if len(d.Actions()) != 3 {
					b.Fatal("the object was not freed")
				}
			}
		})
	}
}

// BenchmarkDir_Broadcast is a large object that a thousand nodes want.
func BenchmarkDir_Broadcast(b *testing.B) {
	for range b.N {
		d := New()
		id := objectOf(1)
		d.Made(id, 1, 1<<30, 1)
		d.Has(id, 1, 1)
		for n := Node(2); n < 1002; n++ {
			d.Where(id, n, 1)
		}
		for n := Node(2); n < 1002; n++ {
			d.Has(id, 1, n)
		}
		d.Freed(id)
		d.Actions()
	}
}
