package daemon

import (
	"time"

	"github.com/eagleray/eagleray/core/fdlimit"
)

// shortageLimit is how long the start of a worker waits for descriptors when the
// system has none left.
const shortageLimit = 10 * time.Second

// perWorker is how many descriptors a worker takes while it comes up and lives,
// beside its pipes: its pidfd, its connection, and what they need on the way.
const perWorker = 6

// workerPipes makes a worker's output, with room for the rest that it needs.
func (d *Daemon) workerPipes(w *worker) (o *output, stdout, stderr int, err error) {
	err = fdlimit.Retry(shortageLimit, func() bool { return d.stillWanted(w) }, func() error {
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
		if o, err = newOutput(d.o.SessionDir+"/logs", w.job.sink, [2]int{out.r, errs.r}); err != nil {
			closeAll([]int{out.w, errs.w})
			return err
		}
		stdout, stderr = out.w, errs.w
		return nil
	})
	return o, stdout, stderr, err
}

func (d *Daemon) stillWanted(w *worker) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return w.state == stateStarting && !w.doomed && !d.closing
}
