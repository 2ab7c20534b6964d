package inquiry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
)

// Silent reports whether an error says that the head gave no answer in time, so that nobody knows
// more than before.
func Silent(err error) bool {
	return fault.CodeOf(err) == fault.HeadUnavailable || fault.CodeOf(err) == fault.DeadlineExceeded
}

// Unanswered returns the error that a process is told. What says what the process wanted, and
// waited how long the head had for it. An error that is an answer of the head stays as it is.
func Unanswered(what string, waited time.Duration, err error) error {
	switch {
	case fault.CodeOf(err) == fault.HeadUnavailable:
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, context.Canceled):
		return fault.New(fault.Closed, "%s: the daemon is ending", what)
	case !errors.Is(err, context.DeadlineExceeded):
		return err
	case fault.CodeOf(err) == fault.MayHaveBeenApplied:
		return fault.New(fault.MayHaveBeenApplied, "%s: the head of the cluster did not answer within %v, and may have done it all the same. Look whether it is done before you try again (%v)",
			what, waited, err)
	}
	return fault.New(fault.HeadUnavailable, "%s: the head of the cluster did not answer within %v. Look whether the head's process runs and can be reached, and try again (%v)",
		what, waited, err)
}
