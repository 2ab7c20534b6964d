package workers

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/fdlimit"
)

// shortageLimit is how long the start of a worker waits for descriptors when the
// system has none left.
const shortageLimit = 10 * time.Second

// perWorker is how many descriptors a worker takes while it comes up and lives,
// beside its pipes: its pidfd, its connection, and what they need on the way.
const perWorker = 6

// OpenOutput makes the pipes of a worker that is to be forked, with room for the
// other descriptors that it needs. It waits for descriptors while the worker is
// still wanted. The write ends are the caller's.
func OpenOutput(logDir string, to *Sink, wanted func() bool) (o *Output, stdout, stderr int, err error) {
	err = fdlimit.Retry(shortageLimit, wanted, func() error {
		if err := fdlimit.Free(perWorker); err != nil {
			return err
		}
		out, err := newPipe()
		if err != nil {
			return err
		}
		errs, err := newPipe()
		if err != nil {
			closeAll([]int{out.r, out.w})
			return err
		}
		if o, err = newOutput(logDir, to, [2]int{out.r, errs.r}); err != nil {
			closeAll([]int{out.w, errs.w})
			return err
		}
		stdout, stderr = out.w, errs.w
		return nil
	})
	return o, stdout, stderr, err
}
