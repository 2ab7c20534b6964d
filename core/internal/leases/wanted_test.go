package leases

import (
	"testing"
	"time"
)

// A lease that rests and that others want is looked at when its shorter
// patience is over; one that works is marked, and looked at when it rests.
func TestLeaseWanted_RestingOne_IsLookedAtSoon(t *testing.T) {
	since := time.Now().Add(time.Hour)
	c, _ := newPool(t)
	c.Leases = map[uint64]*lease{1: {idle: true, IdleAt: since}, 2: {IdleAt: since}}
	c.LeaseWanted(3) // it is gone
	c.LeaseWanted(2)
	if !c.Leases[2].Wanted || !c.IdleLook.IsZero() {
		t.Errorf("one that works: wanted %v, looked at %v", c.Leases[2].Wanted, c.IdleLook)
	}
	c.LeaseWanted(1)
	if want := since.Add(wantedLease); !c.Leases[1].Wanted || !c.IdleLook.Equal(want) {
		t.Errorf("one that rests: wanted %v, looked at %v, want %v", c.Leases[1].Wanted, c.IdleLook, want)
	}
	if (&lease{}).patience() != idleLease || wantedLease >= idleLease {
		t.Error("what nobody wants is not kept longer")
	}
}
