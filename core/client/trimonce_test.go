package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// Only a driver lets go of what its program's beginning needed; one that is
// closed sets no further timer.
func TestTrimOnce_DriverRests_ClosedOneSetsNoTimer(t *testing.T) {
	for _, c := range []struct {
		role   string
		rests  int
		closed bool
	}{{wire.RoleDriver, 1, false}, {wire.RoleWorker, 0, false}, {wire.RoleDriver, 1, true}} {
		rests := 0
		client := &Client{opts: Options{Role: c.role, Rest: func() { rests++ }}, membership: membership{closed: c.closed}}
		client.trimOnce(time.Hour, func() {})
		if rests != c.rests {
			t.Errorf("a %s rests %d times, want %d", c.role, rests, c.rests)
		}
		if (client.trimTimer == nil) != c.closed {
			t.Errorf("closed %v: timer %v", c.closed, client.trimTimer)
		}
		if client.trimTimer != nil {
			client.trimTimer.Stop()
		}
	}
	client := &Client{opts: Options{Role: wire.RoleDriver}}
	done := make(chan struct{})
	client.trimOnce(0, func() { close(done) })
	select {
	case <-done: // without a function to call, what follows comes all the same
	case <-time.After(60 * time.Second):
		t.Error("what follows does not come")
	}
}
