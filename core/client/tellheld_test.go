package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// Only callers of an actor that are there hear of a concurrency group that has its fill.
func TestTellHeld_LeasesAndCallersThatHaveLeft_AreNotTold(t *testing.T) {
	full := &lane{name: "io", held: true}
	for role, told := range map[string]bool{wire.RoleActor: true, wire.RoleLease: false} {
		w := startDaemon(t).programless()
		calls(t, w, role, nil)
		in := connOf(t, w)
		w.mu.Lock()
		in.tellHeld(full)
		if got := in.Unsent() > 0; got != told {
			t.Errorf("a caller with the role %q is told: %v", role, got)
		}
		w.mu.Unlock()
	}
	w := startDaemon(t).programless()
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := &inConn{Conn: transport.Closed(w.poller), c: w}
	if gone.tellHeld(full); gone.Unsent() != 0 {
		t.Errorf("%d bytes wait for a caller that has left", gone.Unsent())
	}
}
