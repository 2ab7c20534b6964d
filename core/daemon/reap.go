package daemon

import (
	"errors"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// reaper collects the daemon's children: the zygotes that it started, and
// everything whose own parent died, for the daemon is the child subreaper.
type reaper struct {
	mu      sync.Mutex // held from a fork until its pid is known, so that no child is reaped before
	reaped  func(pid, status int)
	signals chan os.Signal
	stop    chan struct{}
	stopped chan struct{}
}

func startReaper(reaped func(pid, status int)) *reaper {
	r := &reaper{
		reaped:  reaped,
		signals: make(chan os.Signal, 1),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	signal.Notify(r.signals, unix.SIGCHLD)
	go r.run()
	return r
}

func (r *reaper) run() {
	defer close(r.stopped)
	for {
		r.sweep()
		select {
		case <-r.signals:
		case <-r.stop:
			return
		}
	}
}

// sweep reaps what there is. It reports whether no child is left at all: then
// this process, being the subreaper, has no descendant either.
func (r *reaper) sweep() (none bool) {
	for {
		var ws unix.WaitStatus
		r.mu.Lock()
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		r.mu.Unlock()
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return errors.Is(err, unix.ECHILD)
		}
		r.reaped(pid, statusCode(ws))
	}
}

func (r *reaper) close() {
	signal.Stop(r.signals)
	close(r.stop)
	<-r.stopped
}
