package requests

import (
	"math/rand/v2"
	"testing"
)

const limit = 4096

func TestRequests_EndInAnyOrder_AnsweredBelowTheOldestThatIsOpen(t *testing.T) {
	die := rand.New(rand.NewPCG(1, 1))
	r := New(limit)
	open := map[uint64]bool{}
	for range 20_000 {
		if len(open) < 30 && die.IntN(2) == 0 {
			open[r.Begin()] = true
		} else {
			for seq := range open {
				r.Finished(seq)
				delete(open, seq)
				break
			}
		}
		oldest := r.last + 1
		for seq := range open {
			oldest = min(oldest, seq)
		}
		if got := r.Answered(r.last + 5); got != oldest {
			t.Fatalf("below %d all have ended, want %d", got, oldest)
		}
		if got := r.Answered(oldest - min(oldest, 3)); got > oldest-min(oldest, 3) {
			t.Fatalf("a request says that it is answered itself: %d", got)
		}
	}
	// One that never ends holds up as many as the state keeps.
	r = New(limit)
	for range 3 * limit {
		if seq := r.Begin(); seq != 1 {
			r.Finished(seq)
		}
	}
	if low := r.Answered(r.last + 1); low < r.last-uint64(limit) || len(r.ended) > limit {
		t.Errorf("below %d of %d all have ended, and %d are noted", low, r.last, len(r.ended))
	}
}
