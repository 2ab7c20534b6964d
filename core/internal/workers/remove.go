package workers

import "golang.org/x/sys/unix"

// Kill ends a worker's process now, or as soon as it is known.
func (t *Table) Kill(w *Worker) {
	if w.state == Gone {
		return
	}
	w.dismissed = true
	if !w.process.Over() {
		w.killed = true
	}
	w.process.Signal(unix.SIGKILL)
}

// kill is Kill for callers that do not hold the lock.
func (t *Table) kill(w *Worker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Kill(w)
}

// remove takes a worker that has failed or is gone out of the table and makes sure
// that its process ends; mu held.
func (t *Table) remove(w *Worker) {
	w.state = Gone
	w.stopDeadline()
	w.stopTimers()
	delete(t.workers, w)
	delete(t.tokens, w.token)
	if t.pids[w.pid] == w {
		delete(t.pids, w.pid)
	}
	w.dismissed = true
	w.process.Signal(unix.SIGKILL)
	if w.pid != 0 && w.process != nil {
		t.orphans.Sweep(w.pid)
	}
	t.freeUnused(w.zygote)
}

// failed ends a worker that will not come up; mu held.
func (t *Table) failed(w *Worker, why string) {
	if w.state != Starting {
		return
	}
	text := startFailure(why, w.output)
	t.log.Warn("a worker failed to start", "env", w.env, "pid", w.pid, "why", text)
	t.remove(w)
	w.events.Failed(text)
}

// fail is failed for callers that do not hold the lock.
func (t *Table) fail(w *Worker, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed(w, why)
}
