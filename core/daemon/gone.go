package daemon

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/sched"
)

// processGone: the pidfd says that the worker has ended. What it told last is in
// its socket, and its last words are in the pipes. Its status was read from the
// process if the zygote has not waited for it yet; else it is on its way from there.
func (d *Daemon) processGone(w *worker, p *process) {
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
	if p.end.status != 0 { // a 0 may mean that reading it is forbidden: the zygote tells
		d.statusKnown(w, p.end)
	}
	output, starting, c := w.output, w.state == stateStarting, w.client
	d.mu.Unlock()
	if c != nil {
		wait(c.peer.Done())
	}
	wait(w.told)
	d.mu.Lock()
	d.statusKnown(w, p.end)
	d.mu.Unlock()
	if starting && output != nil {
		wait(output.done)
	}
	if !starting {
		said := output.epitaph()
		d.mu.Lock()
		w.said = said
		d.mu.Unlock()
	}
	d.mu.Lock()
	odd := w.known && w.status == -int(unix.SIGKILL) && (!w.ended || w.deaf) && w.state == stateReady
	d.mu.Unlock()
	if odd {
		d.byKernel(w)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.finish(w)
}

// statusKnown notes how a worker ended, if that is not known yet; mu held.
func (d *Daemon) statusKnown(w *worker, e ending) {
	if e.known && !w.known {
		w.status, w.known = e.status, true
		close(w.told)
	}
}

// finish tells everyone of a worker's end; mu held.
func (d *Daemon) finish(w *worker) {
	if w.state == stateGone {
		return
	}
	w.detail = exitText(w.pid, w.status, w.known)
	if w.known && w.status == -int(unix.SIGKILL) && !w.ended {
		w.detail += ", which nobody in this session has sent (the kernel does when it has no memory left: dmesg tells)"
	}
	switch {
	case w.exceeded != "":
		w.detail = w.exceeded
	case w.reason != "":
		w.detail += " on purpose: " + w.reason
	case w.status != 0:
		w.detail += w.said
	}
	starting := w.state == stateStarting
	doomed := w.doomed || starting && d.killedAtStart(w)
	said := ""
	if starting && w.output != nil {
		said = w.output.lastWords()
	}
	d.noteEnd(w)
	d.forget(w)
	if w.actor != nil {
		d.actorEnded(w)
	}
	d.lastDetail, d.lastCode = w.detail, ""
	if w.exceeded != "" {
		d.lastCode = w.excess
	}
	d.lastBytes = w.held
	d.event(func(m *sched.Machine) {
		switch {
		case starting && doomed:
			m.WorkerGone(w.id)
		case starting:
			why := w.detail + " before it was ready"
			if said != "" {
				why += "; it last wrote:\n" + said
			}
			m.WorkerFailed(w.id, "the worker process for this task's environment could not be started: "+why)
		default:
			m.WorkerGone(w.id)
		}
	})
}
