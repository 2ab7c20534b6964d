package execute

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/frame"
)

// A task that waits for objects lends its CPUs to others, so that the tasks which
// make these objects can run.
const (
	// LendAfter is how long a task waits before it lends its CPUs.
	LendAfter = time.Millisecond
	// takeBackAfter is how long a task runs after a wait before it takes its CPUs
	// back: a task that polls must not starve what it polls for.
	takeBackAfter = time.Millisecond
	// lendEvery is how often a long task lends its CPUs from the start of a wait,
	// however short its waits are.
	lendEvery = 100 * time.Millisecond
)

// Block notes that the running task waits for objects. Its CPUs are lent, and the tasks
// that are queued behind it go back. Unblock follows.
func (w *Worker) Block() {
	w.blocked++
	if w.lent {
		return
	}
	w.lent, w.lentAt = true, time.Now()
	w.giveBackAll()
	w.tellBlocked(true)
}

// Unblock notes that a waiting task goes on. If it waits again within
// takeBackAfter, its CPUs stay lent.
func (w *Worker) Unblock() {
	w.blocked--
	if w.blocked > 0 {
		return
	}
	w.resumed = time.Now()
	if w.taker == nil {
		w.taker = w.do.AfterFunc(takeBackAfter, w.takeBackLater)
	} else {
		w.taker.Reset(takeBackAfter)
	}
}

func (w *Worker) takeBackLater() {
	if !w.lent || w.blocked > 0 {
		return
	}
	if time.Since(w.resumed) >= takeBackAfter { // else the task has waited again meanwhile, and Unblock has set the timer anew
		w.takeBack()
	}
}

// takeBackIfIdle ends the loan when nothing runs any more.
func (w *Worker) takeBackIfIdle() {
	if w.lent && w.blocked == 0 && w.calls.len() == 0 {
		w.takeBack()
	}
}

// takeBack ends the loan.
func (w *Worker) takeBack() {
	w.lent = false
	w.tellBlocked(false)
}

// LendsAtOnce reports whether a wait of the running task lends its CPUs from the
// start: a long task does so now and then, however short its waits are.
func (w *Worker) LendsAtOnce(now time.Time) bool {
	return w.lent || now.Sub(w.started) > GiveBackAfter && now.Sub(w.lentAt) > lendEvery
}

// tellBlocked tells the processes that lease this worker, and the daemon, that the running
// task waits, or goes on.
func (w *Worker) tellBlocked(blocked bool) {
	for _, c := range w.callers {
		if c.leased && !c.pipe.Closed() {
			c.pipe.Queue(frame.AppendBlocked(c.pipe.Buffer(), blocked))
			c.pipe.Flush()
		}
	}
	w.do.Blocked(blocked)
}
