package workers

import (
	"errors"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// Reaper collects the daemon's children: the zygotes that it started, and
// everything whose own parent died, for the daemon is the child subreaper.
type Reaper struct {
	mu      sync.Mutex // held from a fork until its pid is known, so that no child is reaped before
	reaped  func(pid, status int)
	signals chan os.Signal
	stop    chan struct{}
	stopped chan struct{}
}

// StartReaper begins to collect children. It calls reaped for each, on one goroutine;
// status is as in Ending.
func StartReaper(reaped func(pid, status int)) *Reaper {
	r := &Reaper{
		reaped:  reaped,
		signals: make(chan os.Signal, 1),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	signal.Notify(r.signals, unix.SIGCHLD)
	go r.run()
	return r
}

func (r *Reaper) run() {
	defer close(r.stopped)
	for {
		r.Sweep()
		select {
		case <-r.signals:
		case <-r.stop:
			return
		}
	}
}

// Sweep reaps the children that have ended. It reports whether no child is left at
// all: then this process, being the subreaper, has no descendant either.
func (r *Reaper) Sweep() (none bool) {
	for {
		pid, ws, err := r.wait()
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return errors.Is(err, unix.ECHILD)
		}
		r.reaped(pid, statusCode(ws))
	}
}

// wait reaps one child that has ended. The pid is 0 when there is none.
func (r *Reaper) wait() (pid int, ws unix.WaitStatus, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err = unix.Wait4(-1, &ws, unix.WNOHANG, nil)
	return pid, ws, err
}

// Close ends the collecting and waits for its goroutine.
func (r *Reaper) Close() {
	signal.Stop(r.signals)
	close(r.stop)
	<-r.stopped
}
