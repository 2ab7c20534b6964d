package submit

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// A process reads answers from the sockets of its leases and actors. When one is closed, or broke, it
// reads nothing more from that. After the end of the session a successor may read from all of them.
func TestReadsAnswers_SocketOpenOrNot_IsKnown(t *testing.T) {
	c := newQuiet(t)
	says := func(what string, actor bool, number uint64, want bool) {
		t.Helper()
		if got := c.ReadsAnswers(actor, number); got != want {
			t.Errorf("%s: it reads answers: %v", what, got)
		}
	}
	l := &Lease{ID: 5}
	a := &Actor{Channel: &Channel{number: 6}}
	a.ID = ids.Actor{1}
	c.Leases[5], c.Actors[a.ID] = l, a
	says("a lease", false, 5, true)
	says("another lease", false, 6, false)
	says("an actor", true, 6, true)
	says("another connection to an actor", true, 5, false)
	l.Gone = true // its socket broke, and the daemon has not said why
	says("a lease whose socket broke", false, 5, false)
	a.Channel = nil
	says("an actor whose socket broke", true, 6, false)
	delete(c.Leases, 5)
	delete(c.Actors, a.ID)
	c.End(fault.New(fault.Closed, "the worker moves"))
	says("the session has ended", false, 5, true)
	says("the session has ended, an actor", true, 6, true)
}
