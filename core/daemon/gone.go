package daemon

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/sched"
)

// processGone: the pidfd says that the worker has ended. Its status is on its
// way from the zygote that reaps it, what it told last is in its socket, and
// its last words are in the pipes.
func (d *Daemon) processGone(w *worker) {
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
	output, starting, c := w.output, w.state == stateStarting, w.client
	d.mu.Unlock()
	if c != nil {
		wait(c.peer.Done())
	}
	wait(w.told)
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
