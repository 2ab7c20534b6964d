package cancellation

import (
	"testing"
	"time"
)

// The first cancellations in a row wait for the worker, a burst of them does not; a pause ends the burst.
func TestBurst_ManyInARow_OnlyTheFirstAreFew(t *testing.T) {
	var b Burst
	now := time.Now()
	for range 2 {
		for i := range BurstAfter + 5 {
			now = now.Add(burstGap)
			if few := b.Few(now); few != (i < BurstAfter) {
				t.Errorf("cancellation %d in a row waits: %v", i+1, few)
			}
		}
		now = now.Add(burstGap + 1)
	}
}

// The first cancellations in a row are heard by their workers; of many they are not, until a pause.
func TestBurst_BeginsAfterSoMany_EndsWithAPause(t *testing.T) {
	var b Burst
	now := time.Unix(100, 0)
	for n := range BurstAfter {
		if now = now.Add(burstGap); !b.Few(now) {
			t.Fatalf("cancellation %d is part of a burst", n+1)
		}
	}
	if now = now.Add(burstGap); b.Few(now) {
		t.Error("one more is no part of a burst")
	}
	if now = now.Add(burstGap + 1); !b.Few(now) || b.N != 1 {
		t.Errorf("after a pause: %d in a row", b.N)
	}
}
