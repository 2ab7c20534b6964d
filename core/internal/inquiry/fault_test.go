package inquiry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/record"
)

// Whoever waited in vain is told what he wanted, for how long the head was silent, whether the
// change may have been made all the same, and what to do. An answer of the head stays as it is.
func TestUnanswered_SaysWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		code  fault.Code
		words string
	}{
		{"the time is over", fmt.Errorf("actor 12: %w", context.DeadlineExceeded), fault.HeadUnavailable, "kill an actor: the head of the cluster did not answer within 1m0s. Look whether the head's process runs"},
		{"the change may have been made", fmt.Errorf("actor 12: %w: %w", record.ErrMayHaveBeenApplied, context.DeadlineExceeded), fault.MayHaveBeenApplied, "may have done it all the same"},
		{"the link is broken", fault.New(fault.HeadUnavailable, "no path to 192.0.2.1:6379"), fault.HeadUnavailable, "kill an actor: no path to 192.0.2.1:6379"},
		{"the daemon ends", fmt.Errorf("x: %w", context.Canceled), fault.Closed, "kill an actor: the daemon is ending"},
	} {
		if silent := c.code == fault.HeadUnavailable; Silent(c.err) != silent {
			t.Errorf("%s: the head is silent: %v", c.name, !silent)
		}
		got := Unanswered("kill an actor", time.Minute, c.err)
		if fault.CodeOf(got) != c.code || !strings.Contains(got.Error(), c.words) {
			t.Errorf("%s: got %s %v", c.name, fault.CodeOf(got), got)
		}
		if strings.HasPrefix(c.err.Error(), "actor 12") && !strings.Contains(got.Error(), "actor 12") {
			t.Errorf("%s: %v does not name the actor", c.name, got)
		}
	}
	for _, err := range []error{
		fmt.Errorf("actor 12: %w", record.ErrNotFound), record.ErrJobEnded, &record.NameTakenError{Name: "it"},
		fmt.Errorf("x: %w", record.ErrMayHaveBeenApplied), errors.New("disk on fire"),
	} {
		if got := Unanswered("kill an actor", time.Minute, err); got != err || Silent(err) {
			t.Errorf("the answer %v becomes %v", err, got)
		}
	}
}
