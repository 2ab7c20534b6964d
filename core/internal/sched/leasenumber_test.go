package sched

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// granted returns the numbers of the leases that the machine has granted since the last call. The
// workers that it starts are ready at once.
func granted(m *Machine) (list []LeaseID) {
	for as := m.Actions(); len(as) > 0; as = m.Actions() {
		for _, a := range as {
			switch a := a.(type) {
			case StartWorker:
				m.WorkerReady(a.Worker)
			case Grant:
				list = append(list, a.Lease)
			}
		}
	}
	return list
}

func TestNumberLease_UpperHalfStays_LowerHalfBeginsAnewWithoutThoseThatAreHeld(t *testing.T) {
	const node = LeaseID(7) << 32
	for _, c := range []struct {
		what  string
		first LeaseID
		want  []LeaseID // of three leases at a time, of which the second stays
		then  []LeaseID
	}{
		{"no number", 0, []LeaseID{1, 2, 3}, []LeaseID{4, 5}},
		{"a node's first", node | 1, []LeaseID{node | 1, node | 2, node | 3}, []LeaseID{node | 4, node | 5}},
		{"the lower half ends", node | (lowerHalf - 1), []LeaseID{node | (lowerHalf - 1), node | lowerHalf, node | 1}, []LeaseID{node | 2, node | 3}},
		{"the highest node", ^LeaseID(0), []LeaseID{^LeaseID(0), ^lowerHalf | 1, ^lowerHalf | 2}, []LeaseID{^lowerHalf | 3, ^lowerHalf | 4}},
	} {
		ledger, err := resource.NewLedger(resource.Set{resource.CPU: 3 * resource.Unit}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := New(Options{Ledger: ledger, MaxIdle: 3, MaxStarts: 3, FirstLease: c.first})
		job := ids.JobOf(1)
		m.AddJob(job, "e")
		m.AddClient(1, job)
		m.DefineClass(1, Class{ID: 7, Need: resource.Set{resource.CPU: resource.Unit}, Env: "e", Name: "f"})
		m.Want(1, 7, 3)
		if got := granted(m); !slices.Equal(got, c.want) {
			t.Errorf("%s: the leases are %x, want %x", c.what, got, c.want)
			continue
		}
		if got := m.LeasesOf(1); len(got) != 3 {
			t.Errorf("%s: the client holds %x", c.what, got)
		}
		m.Return(1, c.want[0], false, false)
		m.Return(1, c.want[2], false, false)
		m.Want(1, 7, 2)
		if got := granted(m); !slices.Equal(got, c.then) {
			t.Errorf("%s: the next leases are %x, want %x", c.what, got, c.then)
		}
		// The lower half has been used up once more while the second lease was held.
		m.Return(1, c.then[0], false, false)
		m.nextLease = c.want[1]
		m.Want(1, 7, 1)
		if got := granted(m); len(got) != 1 || slices.Contains(append(c.then[1:], c.want[1]), got[0]) || got[0]&^lowerHalf != c.first&^lowerHalf {
			t.Errorf("%s: %x is granted, and %x and %x are held", c.what, got, c.want[1], c.then[1])
		}
	}
}
