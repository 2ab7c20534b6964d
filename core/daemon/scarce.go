package daemon

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// The system may be out of something for a moment, descriptors mostly. That is
// no fault of an environment or a task: what needs it waits.

// scarcePause lies between two tries.
const scarcePause = 25 * time.Millisecond

// scarce reports whether the error says that the system has no more of
// something, and may have it again.
func scarce(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EAGAIN)
}

// scarceLimit is how long the start of a worker waits for that.
const scarceLimit = 10 * time.Second

// perWorker is how many descriptors a worker takes while it comes up and lives,
// beside its pipes: its pidfd, its connection, and what they need on the way.
const perWorker = 6

// haveRoom reports whether so many descriptors are free.
func haveRoom(n int) error {
	fds := make([]int, 0, n)
	defer func() { closeAll(fds) }()
	for range n {
		fd, err := unix.Dup(0)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
	}
	return nil
}

// patiently tries until it works, fails for another reason than scarcity, or
// nobody waits for it any more.
func patiently(limit time.Duration, wanted func() bool, f func() error) error {
	for end := time.Now().Add(limit); ; time.Sleep(scarcePause) {
		err := f()
		if err == nil || !scarce(err) || time.Now().After(end) || !wanted() {
			return err
		}
	}
}

// workerPipes makes a worker's output, with room for the rest that it needs.
func (d *Daemon) workerPipes(w *worker) (o *output, stdout, stderr int, err error) {
	err = patiently(scarceLimit, func() bool { return d.stillWanted(w) }, func() error {
		if err := haveRoom(perWorker); err != nil {
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
