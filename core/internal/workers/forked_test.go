package workers

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A zygote tells of a fork. A worker that waits for it takes the handle, a worker
// that has said so itself keeps its own, and a process for which nobody waits is
// ended.
func TestZygoteForked_NobodyWaits_ProcessIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		change func(tb *Table, w *Worker, pid int) (token string)
		lives  bool
	}{
		"the worker waits":           {func(_ *Table, w *Worker, _ int) string { return w.token }, true},
		"the order is not known":     {func(*Table, *Worker, int) string { return "unknown" }, false},
		"the worker is gone":         {func(_ *Table, w *Worker, _ int) string { w.state = Gone; return w.token }, false},
		"the worker has another one": {func(tb *Table, w *Worker, _ int) string { watched(t, tb, w, sleeper(t)); return w.token }, false},
		"the order is an older one": {func(tb *Table, w *Worker, pid int) string {
			tb.pids[pid] = w
			return "older"
		}, false},
		"the worker has said so itself": {func(tb *Table, w *Worker, pid int) string {
			watched(t, tb, w, pid)
			delete(tb.tokens, w.token)
			return w.token
		}, true},
	} {
		tb, j := openTable(t)
		w, _, _ := ordered(tb, j)
		pid := sleeper(t)
		ended := make(chan struct{})
		p, err := Watch(pid, func(*Process) { close(ended) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Release)
		pidfd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		tb.mu.Lock()
		token := c.change(tb, w, pid)
		had := w.process
		tb.mu.Unlock()
		tb.forked(token, pid, pidfd)
		tb.mu.Lock()
		taken := w.process != had
		tb.mu.Unlock()
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
		tb.mu.Lock() // the table ends without the worker
		w.process.Release()
		clear(tb.workers)
		clear(tb.pids)
		clear(tb.tokens)
		tb.mu.Unlock()
	}
}

// watched gives a worker a process; mu held.
func watched(t *testing.T, tb *Table, w *Worker, pid int) {
	t.Helper()
	p, err := Watch(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.pid, w.process = pid, p
	tb.pids[pid] = w
}
