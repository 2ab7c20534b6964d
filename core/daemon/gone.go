package daemon

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/workers"
)

// processGone: the pidfd says that the worker has ended. What it told last is in
// its socket, and its last words are in the pipes. Its status was read from the
// process if the zygote has not waited for it yet; else it is on its way from there.
func (d *Daemon) processGone(w *worker, p *workers.Process) {
	limit := time.NewTimer(statusWait)
	defer limit.Stop()
	wait := func(event <-chan struct{}) {
		select {
		case <-event:
		case <-limit.C:
			limit.Reset(0)
		}
	}
	d.mu.Lock()
	if p.End.Status != 0 { // a 0 may mean that reading it is forbidden: the zygote tells
		d.statusKnown(w, p.End)
	}
	output, starting, c := w.output, w.state == stateStarting, w.client
	d.mu.Unlock()
	if c != nil {
		wait(c.peer.Done())
	}
	wait(w.told)
	d.mu.Lock()
	d.statusKnown(w, p.End)
	d.mu.Unlock()
	if starting && output != nil {
		wait(output.Done())
	}
	said := ""
	if !starting {
		said = output.StderrTail()
	}
	d.mu.Lock()
	odd := w.known && w.status == -int(unix.SIGKILL) && (!w.ended || w.deaf) && w.state == stateReady
	d.mu.Unlock()
	if odd {
		d.byKernel(w)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.finish(w, said)
}

// statusKnown notes how a worker ended, if that is not known yet; mu held.
func (d *Daemon) statusKnown(w *worker, e workers.Ending) {
	if e.Known && !w.known {
		w.status, w.known = e.Status, true
		close(w.told)
	}
}

// workerEnd is how a worker ended, as it is told to those who needed the worker.
type workerEnd struct {
	detail string     // in words
	code   fault.Code // what its task fails with; "" for a crash
	bytes  uint64     // what it held when it was ended for holding too much memory
}

// endOf says how a worker ended. Said is what the worker wrote last; mu held.
func endOf(w *worker, said string) workerEnd {
	if w.exceeded != "" {
		return workerEnd{detail: w.exceeded, code: w.excess, bytes: w.held}
	}
	detail := workers.ExitText(w.pid, w.status, w.known)
	if w.known && w.status == -int(unix.SIGKILL) && !w.ended {
		detail += ", which nobody in this session has sent (the kernel does when it has no memory left: dmesg tells)"
	}
	switch {
	case w.reason != "":
		detail += " on purpose: " + w.reason
	case w.status != 0:
		detail += said
	}
	return workerEnd{detail: detail, bytes: w.held}
}

// finish tells everyone of a worker's end. Said is what the worker wrote last to
// standard error; mu held.
func (d *Daemon) finish(w *worker, said string) {
	if w.state == stateGone {
		return
	}
	end := endOf(w, said)
	starting := w.state == stateStarting
	doomed := w.doomed || starting && d.killedAtStart(w)
	d.noteEnd(w, end)
	d.forget(w)
	if w.actor != nil {
		d.actorEnded(w, end)
	}
	if !starting || doomed {
		d.eventOfEnd(end, func(m *sched.Machine) { m.WorkerGone(w.id) })
		return
	}
	why := "the worker process for this task's environment could not be started: " + end.detail + " before it was ready"
	if w.output != nil {
		if text := w.output.LastWords(); text != "" {
			why += "; it last wrote:\n" + text
		}
	}
	d.event(func(m *sched.Machine) { m.WorkerFailed(w.id, why) })
}
