package submit

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A worker lets go of the references inside an exception that nobody gets once all references that came
// here are registered with their owners. One whose caller's session ends before that hears nothing.
func TestDiscard_SessionEndsBeforeTheOwnerHasAnswered_WorkerHearsNothing(t *testing.T) {
	for _, ends := range []bool{false, true} {
		c := newQuiet(t)
		c.table.Registering(1)
		var r wire.Reader
		c.discard(&r, &frame.Reply{Flags: wire.ReplyAppError | wire.ReplyHeld, Held: 7}, &Task{}, &Channel{addr: "/w"}, 0)
		if len(c.receipts) != 0 {
			t.Error("the worker hears of references that are not registered")
		}
		want := []string{"/w 7"}
		if ends {
			c.End(fault.New(fault.Closed, "the program ends"))
			c.table.EndRegistrationWaits()
			want = nil
		} else {
			c.table.Registered(1)
		}
		if !slices.Equal(c.receipts, want) || c.Unqueued != 0 {
			t.Errorf("the session ends %v: the worker hears %q, want %q; %d tasks are between two runs", ends, c.receipts, want, c.Unqueued)
		}
	}
}
