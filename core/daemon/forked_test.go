package daemon

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/workers"
)

// A zygote tells of a fork. A worker that waits for it takes the handle, a worker
// that has said so itself keeps its own, and a process for which nobody waits is
// ended.
func TestZygoteForked_NobodyWaits_ProcessIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		change func(d *Daemon, w *worker, pid int) (token string)
		lives  bool
	}{
		"the worker waits":           {func(_ *Daemon, w *worker, _ int) string { return w.token }, true},
		"the order is not known":     {func(*Daemon, *worker, int) string { return "unknown" }, false},
		"the worker is gone":         {func(_ *Daemon, w *worker, _ int) string { w.state = stateGone; return w.token }, false},
		"the worker has another one": {func(d *Daemon, w *worker, _ int) string { watched(t, d, w, sleeper(t)); return w.token }, false},
		"the order is an older one": {func(d *Daemon, w *worker, pid int) string {
			d.pids[pid] = w
			return "older"
		}, false},
		"the worker has said so itself": {func(d *Daemon, w *worker, pid int) string {
			watched(t, d, w, pid)
			delete(d.tokens, w.token)
			return w.token
		}, true},
	} {
		d, j := opened(t)
		w, _ := ordered(d, j)
		pid := sleeper(t)
		ended := make(chan struct{})
		p, err := workers.Watch(pid, func(*workers.Process) { close(ended) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Release)
		pidfd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		token := c.change(d, w, pid)
		had := w.proc
		d.mu.Unlock()
		d.workerForked(token, pid, pidfd)
		d.mu.Lock()
		taken := w.proc != had
		d.mu.Unlock()
		if want := name == "the worker waits"; taken != want {
			t.Errorf("%s: the handle is taken: %v", name, taken)
		}
		if c.lives {
			if p.Over() {
				t.Errorf("%s: the process is ended", name)
			}
		} else {
			select {
			case <-ended:
			case <-time.After(testLimit):
				t.Fatalf("%s: the process lives", name)
			}
		}
		d.mu.Lock() // the daemon ends without the worker
		w.proc.Release()
		clear(d.workers)
		clear(d.pids)
		clear(d.tokens)
		clear(j.workers)
		d.mu.Unlock()
	}
}

// watched gives a worker a process; mu held.
func watched(t *testing.T, d *Daemon, w *worker, pid int) {
	t.Helper()
	p, err := workers.Watch(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.pid, w.proc = pid, p
	d.pids[pid] = w
}
