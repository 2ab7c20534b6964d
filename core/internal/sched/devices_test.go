package sched

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// deviceUses is who may be using which device, as one sees it from outside: from
// the grant until the lease is given back or the process is gone. It knows
// nothing of the machine's ledger.
type deviceUses map[WorkerID]map[string][]resource.Share

// give notes a grant. No device may be given out beyond one whole, and a share
// is a part of one.
func (u deviceUses) give(t *testing.T, id WorkerID, hold *resource.Allocation) {
	t.Helper()
	if len(u[id]) > 0 {
		t.Fatalf("worker %d got devices while it has %v", id, u[id])
	}
	u[id] = hold.Shares()
	for name, shares := range u[id] {
		whole := hold.Resources()[name] >= resource.Unit
		for _, s := range shares {
			if whole != (s.Amount == resource.Unit) {
				t.Fatalf("worker %d asked for %s %s and got %v", id, hold.Resources()[name], name, shares)
			}
			if used := u.used(name, s.ID); used > resource.Unit {
				t.Fatalf("%s %s is given out %s times: %v", name, s.ID, used, u)
			}
		}
	}
}

func (u deviceUses) used(name, id string) resource.Amount {
	var sum resource.Amount
	for _, devices := range u {
		for _, s := range devices[name] {
			if s.ID == id {
				sum += s.Amount
			}
		}
	}
	return sum
}

// TestDeviceUses_Overlap_IsSeen makes sure that the check of the property test
// can fail.
func TestDeviceUses_Overlap_IsSeen(t *testing.T) {
	l, err := resource.NewLedger(nil, map[string][]string{"GPU": {"0", "1"}})
	if err != nil {
		t.Fatal(err)
	}
	u := deviceUses{}
	for id := range WorkerID(2) {
		a, ok := l.Acquire(resource.Set{"GPU": resource.Unit / 2})
		if !ok {
			t.Fatal("no half of a GPU")
		}
		u.give(t, id, a)
	}
	if used := u.used("GPU", "0"); used != resource.Unit {
		t.Errorf("two halves make %s", used)
	}
	u[2] = u[1]
	if used := u.used("GPU", "0"); used <= resource.Unit {
		t.Errorf("three halves make %s", used)
	}
}
