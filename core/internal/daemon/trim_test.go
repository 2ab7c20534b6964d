package daemon

import (
	"testing"
	"time"
)

// The pauses between two rests grow to a bound, and a daemon that closes has no more of them.
func TestTrim_PausesGrowToTheirBound(t *testing.T) {
	d := &Daemon{trimWait: soonestTrim, trimTimer: time.NewTimer(time.Hour)}
	if !d.trimTimer.Stop() {
		t.Fatal("the timer went off")
	}
	for want := 2 * soonestTrim; want < rarestTrim; want *= 2 {
		if d.trim(); d.trimWait != want {
			t.Fatalf("the pause is %v, want %v", d.trimWait, want)
		}
		if !d.trimTimer.Stop() {
			t.Fatal("the next rest is not arranged")
		}
	}
	for range 2 {
		if d.trim(); d.trimWait != rarestTrim || !d.trimTimer.Stop() {
			t.Fatalf("the pause is %v, want %v", d.trimWait, rarestTrim)
		}
	}
	d.closing = true
	if d.trim(); d.trimTimer.Stop() {
		t.Error("a daemon that closes arranges another rest")
	}
}
