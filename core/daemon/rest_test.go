package daemon

import (
	"testing"
	"time"
)

// The pauses between two rests grow to a bound, and a daemon that closes has no more of them.
func TestRest_PausesGrowToTheirBound(t *testing.T) {
	d := &Daemon{resting: soonestRest, restTimer: time.NewTimer(time.Hour)}
	if !d.restTimer.Stop() {
		t.Fatal("the timer went off")
	}
	for want := 2 * soonestRest; want < rarestRest; want *= 2 {
		if d.rest(); d.resting != want {
			t.Fatalf("the pause is %v, want %v", d.resting, want)
		}
		if !d.restTimer.Stop() {
			t.Fatal("the next rest is not arranged")
		}
	}
	for range 2 {
		if d.rest(); d.resting != rarestRest || !d.restTimer.Stop() {
			t.Fatalf("the pause is %v, want %v", d.resting, rarestRest)
		}
	}
	d.closing = true
	if d.rest(); d.restTimer.Stop() {
		t.Error("a daemon that closes arranges another rest")
	}
}
