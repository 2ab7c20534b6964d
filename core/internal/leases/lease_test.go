package leases

import (
	"testing"
)

// Of two leases the one with less to do gets the next task, of equals the better choice;
// one of a later choice serves one task if the first choice is waited for.
func TestLease_Before_LessWorkThenTheBetterChoice(t *testing.T) {
	for _, x := range []struct{ busy, choice, otherBusy, otherChoice int }{
		{0, 2, 1, 0}, {1, 0, 1, 1}, {0, 0, 5, 5}, {3, 1, 3, 2},
	} {
		a, b := &lease{Busy: x.busy, Choice: x.choice}, &lease{Busy: x.otherBusy, Choice: x.otherChoice}
		if !a.before(b) || b.before(a) || a.before(a) {
			t.Errorf("%+v: %v, %v", x, a.before(b), b.before(a))
		}
	}
	for _, x := range []struct {
		choice int
		after  int64
		once   bool
	}{{0, 0, false}, {0, 1, false}, {1, 0, false}, {1, 1, true}, {2, 500, true}} {
		if got := (&lease{Choice: x.choice, Class: &class{after: x.after}}).once(); got != x.once {
			t.Errorf("choice %d, after %d ms: %v", x.choice, x.after, got)
		}
	}
}
