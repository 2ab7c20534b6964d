package daemon

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/machine"
	"github.com/eagleray/eagleray/core/pressure"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
)

// A worker that is to be ended for its memory is chosen from a picture of all
// processes, which takes some milliseconds. Meanwhile an idle worker may have become
// an actor's, and a task may have ended and given its memory back. So the chosen
// worker is asked once more, and is ended only if it still does what the picture says.
// Otherwise another picture is taken.

// sight is what one worker did at one moment.
type sight struct {
	actor    *actor
	what     sched.Occupation
	answered bool // the worker has said what it runs
	runs     wire.Running
}

// sightOf returns what a worker does, by the scheduler and by its own answer, which may
// be nil; mu held.
func (d *Daemon) sightOf(w *worker, r *wire.Running) *sight {
	s := &sight{actor: w.actor}
	s.what, _ = d.m.Occupation(w.id)
	if r != nil {
		s.answered, s.runs = true, *r
	}
	return s
}

// same reports whether the worker does at now what it did at s. Exact: it runs the same
// call. Otherwise another task of the same function and caller will do: where
// tasks are short no picture shows the task that runs when it is looked at.
func (s *sight) same(now *sight, exact bool) bool {
	if s.actor != nil || now.actor != nil {
		return s.actor == now.actor && s.what.Ending == now.what.Ending
	}
	before, after := s.what, now.what
	if !exact {
		before.Since, after.Since = 0, 0
	}
	switch {
	case before != after:
		return false
	case !now.answered: // it does not come to answering: the lease must do
		return true
	case !s.answered || s.runs.Once != now.runs.Once || s.runs.Busy > 0 != (now.runs.Busy > 0):
		return false
	}
	return s.runs.Name == now.runs.Name && (s.runs.Call == now.runs.Call || !exact)
}

// exactLooks is how often the chosen worker must be at the same call still. After
// that another task of the same function is ended instead.
const exactLooks = 3

// relieve ends one worker and waits until it is gone and its memory is back.
func (d *Daemon) relieve(level machine.Level) {
	for looks := 0; looks <= exactLooks; looks++ {
		view := d.usage()
		w, ok := pressure.Pick(view.workers)
		if !ok {
			if time.Since(d.memory.warned) > warnAgain {
				d.memory.warned = time.Now()
				d.log.Warn("memory is short, and no worker is there that could be ended", "where", level.Name, "used", level.Anon, "room", level.Room)
			}
			return
		}
		text := d.memory.o.Report(d.nodeName(), w, level, view.largest())
		if gone, ended := d.endForMemory(w, view.sights[sched.WorkerID(w.ID)], looks < exactLooks, text); ended {
			d.awaitRelief(gone)
			return
		}
		var left int64
		if level, left, ok = d.tightest(); !ok || left >= 0 {
			return
		}
	}
}

// awaitRelief waits until a worker that was ended is gone, and until its memory is back.
func (d *Daemon) awaitRelief(gone <-chan struct{}) {
	limit := time.NewTimer(goneWait)
	defer limit.Stop()
	select {
	case <-gone:
	case <-limit.C:
	case <-d.stop:
		return
	}
	for end := time.Now().Add(d.memory.o.Every); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, left, ok := d.tightest(); !ok || left >= 0 {
			return
		}
	}
}

// endForMemory ends the worker, if it still does what was seen of it, and returns what is
// closed when it is gone. ended is false when it does something else.
func (d *Daemon) endForMemory(x pressure.Worker, saw *sight, exact bool, text string) (gone <-chan struct{}, ended bool) {
	id := sched.WorkerID(x.ID)
	runs := d.askRunning(func(w *worker) bool { return w.id == id })
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.workers[id]
	if w == nil || w.state == stateGone || w.proc == nil || d.closing {
		over := make(chan struct{})
		close(over)
		return over, true
	}
	now := d.sightOf(w, runs[id])
	if !saw.same(now, exact) {
		d.log.Info("a worker that was to be ended for want of memory does something else by now", "pid", w.pid, "what", x.Name)
		return nil, false
	}
	d.log.Warn("a worker is ended for want of memory", "pid", w.pid, "what", x.Name, "bytes", x.Bytes, "report", text)
	if now.what.Idle {
		d.event(func(m *sched.Machine) { m.Retire(w.id) })
		return w.proc.Gone, true
	}
	w.exceeded, w.excess, w.held = text, fault.OutOfMemory, x.Bytes
	d.kill(w)
	return w.proc.Gone, true
}
