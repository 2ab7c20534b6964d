package client

import (
	"testing"
	"time"
)

// A lease that rests and that others want is looked at when its shorter
// patience is over; one that works is marked, and looked at when it rests.
func TestLeaseWanted_RestingOne_IsLookedAtSoon(t *testing.T) {
	since := time.Now().Add(time.Hour)
	c := bare(&Client{})
	c.leases = map[uint64]*lease{1: {idle: true, idleAt: since}, 2: {idleAt: since}}
	defer c.submitter.stop()
	c.leaseWanted(3) // it is gone
	c.leaseWanted(2)
	if !c.leases[2].wanted || !c.idleLook.IsZero() {
		t.Errorf("one that works: wanted %v, looked at %v", c.leases[2].wanted, c.idleLook)
	}
	c.leaseWanted(1)
	if want := since.Add(wantedLease); !c.leases[1].wanted || !c.idleLook.Equal(want) {
		t.Errorf("one that rests: wanted %v, looked at %v, want %v", c.leases[1].wanted, c.idleLook, want)
	}
	if (&lease{}).patience() != idleLease || wantedLease >= idleLease {
		t.Error("what nobody wants is not kept longer")
	}
	closed := bare(&Client{membership: membership{closed: true}})
	closed.leases[1] = &lease{idle: true}
	if closed.leaseWanted(1); closed.leases[1].wanted {
		t.Error("a closed client minds its leases")
	}
}
