package keyleases

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/record"
)

func lease(id uint64, ttl time.Duration) record.KeyLease {
	return record.KeyLease{ID: id, TTLMs: ttl.Milliseconds()}
}

// advance calls Advance as the head does, at Next at the latest, and returns when each lease was due.
func advance(c *Clock, from, to time.Duration) map[uint64]time.Duration {
	due := map[uint64]time.Duration{}
	for now := from; ; {
		for _, id := range c.Advance(now) {
			due[id] = now
			c.Ended(id)
		}
		if now == to {
			return due
		}
		at, some := c.Next()
		if !some {
			at = to
		}
		now = min(to, max(at, now+1))
	}
}

func TestClock_LeaseIsKept_EndsItsTimeAfterTheLastWord(t *testing.T) {
	c := New(0, []record.KeyLease{lease(1, 10*time.Second), lease(2, 4*time.Second)})
	c.Granted(time.Second, lease(3, 2*time.Second))
	if due := advance(c, 0, 3500*time.Millisecond); len(due) != 1 || due[3] != 3*time.Second {
		t.Errorf("due are %v", due)
	}
	if !c.Keep(3500*time.Millisecond, 2) || c.Keep(3500*time.Millisecond, 3) {
		t.Error("lease 2 is there, and lease 3 is not")
	}
	c.Granted(3500*time.Millisecond, lease(1, 10*time.Second)) // its event comes late
	if due := advance(c, 3500*time.Millisecond, 20*time.Second); due[2] != 7500*time.Millisecond || due[1] != 10*time.Second {
		t.Errorf("due are %v", due)
	}
	if at, some := c.Next(); some {
		t.Errorf("there is nothing to count, and it wants to be called at %v", at)
	}
}

// A lease that is being ended is not kept any more, and is due once.
func TestClock_LeaseIsEnding_IsNotKept(t *testing.T) {
	c := New(0, []record.KeyLease{lease(1, time.Second)})
	if due := c.Advance(time.Second); !slices.Equal(due, []uint64{1}) {
		t.Errorf("due are %v", due)
	}
	c.Granted(time.Second, lease(1, time.Second))
	if c.Keep(time.Second, 1) {
		t.Error("it was kept")
	}
	if due := c.Advance(1500 * time.Millisecond); len(due) != 0 {
		t.Errorf("it is due again: %v", due)
	}
	c.Sync(2*time.Second, []record.KeyLease{lease(2, time.Second)})
	if c.Keep(2*time.Second, 1) || !c.Keep(2*time.Second, 2) {
		t.Error("the clock does not have what the state has")
	}
	c.Sync(2*time.Second, nil)
	if c.Keep(2*time.Second, 2) {
		t.Error("the clock has what the state does not have")
	}
}

// Leases that are due at the same time are due in the order in which they were granted.
func TestClock_ManyAreDue_InOrder(t *testing.T) {
	var list []record.KeyLease
	var want []uint64
	for id := range uint64(50) {
		list, want = append(list, lease(id+1, time.Second)), append(want, id+1)
	}
	if due := New(0, list).Advance(time.Second); !slices.Equal(due, want) {
		t.Errorf("due are %v", due)
	}
}

// A head that did not run has heard nobody: the leases last as much longer.
func TestClock_HeadWasStopped_LeasesLastLonger(t *testing.T) {
	c := New(0, []record.KeyLease{lease(1, 3*time.Second)})
	if due := c.Advance(60 * time.Second); len(due) != 0 {
		t.Errorf("due after the pause are %v", due)
	}
	if due := advance(c, 60*time.Second, 70*time.Second); due[1] != 62*time.Second {
		t.Errorf("due are %v", due)
	}
}

// Holders whose clocks drift by up to a fifth, and whose words come late, never count on a lease that is due. The test
// counts how often a lease was due, so that it says something.
func TestClock_DriftAndDelay_HolderKnowsFirst(t *testing.T) {
	ends := 0
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		ttl := time.Duration(1+rnd.IntN(30)) * time.Second
		drift := 0.8 + 0.4*rnd.Float64() // the holder's seconds in one of the head's: below 1 it counts too slowly
		c := New(0, []record.KeyLease{lease(1, ttl)})
		trusted := time.Duration(0) // until when the holder counts on the lease, in the head's time
		trust := func(sent time.Duration) {
			trusted = max(trusted, sent+time.Duration(float64(Trust(ttl))/drift))
		}
		trust(0)
		for sent, now := time.Duration(0), time.Duration(0); ; {
			sent += time.Duration(float64(Every(ttl)) / drift)
			if rnd.IntN(12) == 0 { // words are lost for a while
				sent += time.Duration(rnd.IntN(3)) * ttl
			}
			heard := max(now, sent+time.Duration(rnd.Int64N(int64(ttl)))) // up to a whole time later
			if due, ended := advance(c, now, heard)[1]; ended {
				if trusted > due {
					t.Fatalf("seed %d: the holder of %v counts on it until %v, and it was due at %v", seed, ttl, trusted, due)
				}
				ends++
				break
			}
			now = heard
			if c.Keep(now, 1) && sent < trusted { // a holder that has given up does not begin again
				trust(sent)
			}
			if now > time.Hour {
				break
			}
		}
	}
	if ends < 100 {
		t.Errorf("%d leases ended: the test shows nothing", ends)
	}
}

// The holder has a fifth of the time to stop, and says a word often enough that three may be lost.
func TestTrustAndEvery_AreFifths(t *testing.T) {
	for _, ttl := range []time.Duration{record.MinKeyLease, 10 * time.Second, record.MaxKeyLease} {
		if Trust(ttl) != ttl*4/5 || Every(ttl)*4 > Trust(ttl) || Every(ttl) < ttl/6 {
			t.Errorf("of %v: trusted for %v, a word every %v", ttl, Trust(ttl), Every(ttl))
		}
	}
}
