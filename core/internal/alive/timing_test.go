package alive

import (
	"strings"
	"testing"
	"time"
)

func TestNewTiming_OutOfBounds_IsRefused(t *testing.T) {
	for _, dead := range []time.Duration{0, leastDead - 1, mostDead + 1} {
		if _, err := NewTiming(dead); err == nil || !strings.Contains(err.Error(), "node_timeout") {
			t.Errorf("%v: %v", dead, err)
		}
	}
	for _, dead := range []time.Duration{leastDead, DefaultDead, mostDead} {
		got, err := NewTiming(dead)
		if err != nil || got.Dead != dead || got.Unreachable != dead/2 || got.Fence*100 < dead*119 {
			t.Errorf("%v: %+v, %v", dead, got, err)
		}
	}
}

// A node that hears nothing for hours remembers few heartbeats, and the next acknowledgement counts.
func TestNode_NoAnswerForHours_RemembersFew(t *testing.T) {
	timing, err := NewTiming(DefaultDead)
	if err != nil {
		t.Fatal(err)
	}
	n, now := NewNode(timing, 0), time.Duration(0)
	for range 10_000 {
		n.Advance(now)
		now, _ = n.NextTime()
	}
	if len(n.sent) != maxSent {
		t.Errorf("%d heartbeats are remembered", len(n.sent))
	}
	n.Actions()
	n.Acknowledged(n.number)
	if got := n.Actions(); len(got) != 2 || got[0].Kind != ValidUntil || got[1].Kind != Together || len(n.sent) != 0 {
		t.Errorf("the newest heartbeat was acknowledged: %v, and %d are left", got, len(n.sent))
	}
}

// NextTime is in the future always, and nothing happens before it.
func TestNode_NextTime_NothingHappensBefore(t *testing.T) {
	timing, err := NewTiming(leastDead)
	if err != nil {
		t.Fatal(err)
	}
	n, now := NewNode(timing, time.Hour), time.Hour
	for i := range 100 {
		n.Advance(now)
		if i%7 == 0 && i < 50 {
			n.Acknowledged(n.number)
		}
		n.Actions()
		next, some := n.NextTime()
		if !some || next <= now {
			t.Fatalf("at %v the next time is %v", now, next)
		}
		n.Advance(next - 1)
		if got := n.Actions(); len(got) != 0 {
			t.Fatalf("at %v, before %v: %v", next-1, next, got)
		}
		now = next
	}
}
