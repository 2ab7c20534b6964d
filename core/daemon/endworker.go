package daemon

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/wire"
)

// endWorker asks a worker to exit and kills it when the grace is over; mu held.
func (d *Daemon) endWorker(w *worker, grace time.Duration) {
	d.askToExit(w, grace, func(a wire.ExitAnswer, timer *time.Timer) {
		if a.Needed {
			timer.Stop() // it leaves when others have let go of what it owns
		}
	})
}

// endWithJob is endWorker for a worker of a job that ends; mu held.
func (d *Daemon) endWithJob(w *worker, grace time.Duration) {
	d.askToExit(w, grace, func(a wire.ExitAnswer, _ *time.Timer) {
		if a.Runs {
			go d.endRunning(w) // who closes a connection runs this, and may have the lock
		}
	})
}

// askToExit asks a worker to exit, kills it when the timer of its grace fires, and
// passes on what it answers; mu held.
func (d *Daemon) askToExit(w *worker, grace time.Duration, answered func(wire.ExitAnswer, *time.Timer)) {
	if w.state == stateGone || w.doomed {
		return
	}
	if w.client == nil || w.client.gone {
		d.kill(w)
		return
	}
	timer := w.after(grace, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.kill(w)
	})
	w.client.peer.Go(wire.TExit, nil, func(m *wire.Message, err error) {
		var a wire.ExitAnswer
		if err == nil && m.Decode(&a) == nil {
			answered(a, timer)
		}
	})
}

// endRunning kills a worker of an ended job that still runs calls after runsGrace:
// nobody waits for them, and it cannot end before they do. One that has begun to end
// by then keeps the rest of its grace, for its exit handlers.
func (d *Daemon) endRunning(w *worker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.state == stateGone || w.doomed {
		return
	}
	w.after(runsGrace, func() {
		w.client.peer.Go(wire.TExit, nil, func(m *wire.Message, err error) {
			var a wire.ExitAnswer
			if err != nil || m.Decode(&a) != nil || !a.Runs {
				return
			}
			go func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.kill(w)
			}()
		})
	})
}

// expectEnd kills a worker that has said that it ends, and does not: what it
// holds is given to nobody before it is gone; mu held.
func (d *Daemon) expectEnd(w *worker, grace time.Duration) {
	if w == nil || w.state == stateGone {
		return
	}
	w.after(grace, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if w.state != stateGone && !d.closing {
			d.log.Warn("a worker that was to end by itself is killed: its exit handlers take too long", "pid", w.pid, "after", grace)
			d.kill(w)
		}
	})
}

// after does something about a worker when the time is over, unless it is gone
// by then: a timer that nobody stops would keep all that the worker had. mu held.
func (w *worker) after(t time.Duration, f func()) *time.Timer {
	timer := time.AfterFunc(t, f)
	w.timers = append(w.timers, timer)
	return timer
}

// stopTimers stops what was to be done about a worker that is gone; mu held.
func (w *worker) stopTimers() {
	for _, t := range w.timers {
		t.Stop()
	}
	w.timers = nil
}

// kill ends a worker's process now, or as soon as it is known; mu held.
func (d *Daemon) kill(w *worker) {
	if w.state == stateGone {
		return
	}
	w.doomed = true
	if !w.proc.Over() {
		w.ended = true
	}
	w.proc.Signal(unix.SIGKILL)
}
