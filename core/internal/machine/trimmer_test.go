package machine

import (
	"testing"
	"time"
)

// The pauses between two trims grow to a bound, what was freed brings the next one forward, and a Trimmer that was stopped has no more of them.
func TestTrimmer_PausesGrowToTheirBound(t *testing.T) {
	m := &Trimmer{wait: soonestTrim, timer: time.NewTimer(time.Hour)}
	if !m.timer.Stop() {
		t.Fatal("the timer went off")
	}
	for want := 2 * soonestTrim; want < rarestTrim; want *= 2 {
		if m.trim(); m.wait != want {
			t.Fatalf("the pause is %v, want %v", m.wait, want)
		}
		if !m.timer.Stop() {
			t.Fatal("the next trim is not arranged")
		}
	}
	for range 2 {
		if m.trim(); m.wait != rarestTrim || !m.timer.Stop() {
			t.Fatalf("the pause is %v, want %v", m.wait, rarestTrim)
		}
	}
	if m.Soon(); m.wait != soonestTrim || !m.timer.Stop() {
		t.Errorf("after something was freed the pause is %v, want %v", m.wait, soonestTrim)
	}
	m.Stop()
	m.Soon()
	if m.trim(); m.timer.Stop() {
		t.Error("a Trimmer that was stopped arranges another trim")
	}
}

func TestTrimmer_BeforeStart_DoesNothing(t *testing.T) {
	var m Trimmer
	m.Soon()
	m.Stop()
}
