package leases

import (
	"testing"
)

func TestLeft_ClockBeginsAnew_TheTimeGoesOn(t *testing.T) {
	const since = 1<<32 - 10
	for now, want := range map[uint32]int64{1<<32 - 10: 31, 1<<32 - 1: 22, 0: 21, 20: 1, 21: 0, 1000: 0} {
		if got := left(since, now, 30); got != want {
			t.Errorf("at %d: %d ms are left, want %d", now, got, want)
		}
	}
}
