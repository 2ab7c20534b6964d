package workers

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// returnGrace is how long a call that runs at its job's end may take to return.
const returnGrace = 10 * time.Millisecond

// closedWait is how long a worker whose connection has closed may take to end by itself.
const closedWait = 100 * time.Millisecond

// End asks a worker to exit and kills it when the grace is over. A worker that answers
// that others need what it owns stays until they have let go of that.
func (t *Table) End(w *Worker, grace time.Duration) {
	t.askToExit(w, grace, func(a wire.ExitAnswer, timer *time.Timer) {
		if a.Needed {
			timer.Stop()
		}
	})
}

// EndWithJob asks a worker of a job that ends to exit, and kills it when the grace is
// over. A worker that runs calls gets less: nobody waits for them.
func (t *Table) EndWithJob(w *Worker, grace time.Duration) {
	t.askToExit(w, grace, func(a wire.ExitAnswer, _ *time.Timer) {
		if a.Runs {
			go t.endRunning(w) // who closes a connection runs this, and may have the lock
		}
	})
}

// EndUnlessNeeded kills a worker as soon as it has answered a request to exit, or when
// the grace is over. A worker that answers that others need what it owns ends by itself
// once that has moved.
func (t *Table) EndUnlessNeeded(w *Worker, grace time.Duration) {
	timer := w.after(grace, func() { t.kill(w) })
	w.peer.Go(wire.TExit, nil, func(m *wire.Message, err error) {
		var a wire.ExitAnswer
		if err == nil && m.Decode(&a) == nil && a.Needed {
			timer.Stop()
			return
		}
		go t.kill(w) // who closes a connection runs this, and may have the lock
	})
}

// askToExit asks a worker to exit, kills it when the timer of its grace fires, and
// passes on what it answers; mu held.
func (t *Table) askToExit(w *Worker, grace time.Duration, answered func(wire.ExitAnswer, *time.Timer)) {
	if w.state == Gone || w.dismissed {
		return
	}
	if w.Peer() == nil {
		t.Kill(w)
		return
	}
	timer := w.after(grace, func() { t.kill(w) })
	w.peer.Go(wire.TExit, nil, func(m *wire.Message, err error) {
		var a wire.ExitAnswer
		if err == nil && m.Decode(&a) == nil {
			answered(a, timer)
		}
	})
}

// endRunning kills a worker of an ended job that still runs calls after returnGrace:
// nobody waits for them, and the worker cannot end before they do. A worker that has
// begun to end by then keeps the rest of its grace, for its exit handlers.
func (t *Table) endRunning(w *Worker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.state == Gone || w.dismissed {
		return
	}
	w.after(returnGrace, func() {
		w.peer.Go(wire.TExit, nil, func(m *wire.Message, err error) {
			var a wire.ExitAnswer
			if err != nil || m.Decode(&a) != nil || !a.Runs {
				return
			}
			go t.kill(w)
		})
	})
}

// ExpectEnd kills a worker that has announced its end and does not end in time, because
// what the worker holds is given to nobody before the worker is gone.
func (t *Table) ExpectEnd(w *Worker, grace time.Duration) {
	if w.state == Gone {
		return
	}
	w.after(grace, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if w.state != Gone && !t.closing {
			t.log.Warn("a worker that was to end by itself is killed: its exit handlers take too long", "pid", w.pid, "after", grace)
			t.Kill(w)
		}
	})
}

// Disconnected notes that the worker's connection has closed.
func (t *Table) Disconnected(w *Worker) { w.closed = true }

// EndDisconnected kills a worker whose connection has closed, unless it ends within a
// moment: it is dead already, or wants to be.
func (t *Table) EndDisconnected(w *Worker) {
	if w.state == Gone {
		return
	}
	w.after(closedWait, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		w.killedDisconnected = !w.killed // the signal may have been sent before: a large process takes a while to go
		t.Kill(w)
	})
}
