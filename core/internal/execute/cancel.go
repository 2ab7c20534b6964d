package execute

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

const (
	maxEarly = 10_000      // from so many on, cancellations whose calls never came are forgotten
	earlyFor = time.Minute // after so long
)

// Cancel ends a queued call, or interrupts the running one.
func (w *Worker) Cancel(q *wire.Cancel) {
	var id ids.Task
	copy(id[:], q.TaskID)
	if k := w.find(id); k != nil { // its place in the queue stays: Head passes it over
		w.unqueued(k)
		if k.deferred { // its caller's calls behind it wait for nothing any more
			w.Arrived(k)
		}
		w.dismiss(k)
		return
	}
	if k := w.calls.of(id); k != nil {
		w.interrupt(k, q)
		return
	}
	// It is still on its way through the other socket, or already answered.
	now := time.Now()
	if len(w.early) > maxEarly {
		for x, at := range w.early {
			if now.Sub(at) > earlyFor {
				delete(w.early, x)
			}
		}
	}
	w.early[id] = now
}

// interrupt cancels a running call: its program is told, or ended.
func (w *Worker) interrupt(k *Call, q *wire.Cancel) {
	if !k.cancel && k.stop != nil {
		close(k.stop)
	}
	k.cancel = true
	if k.feed != nil {
		w.wakeFeed(k.feed)
	}
	var children <-chan struct{}
	if q.Recursive {
		children = w.do.CancelChildren(k.token, q.Force)
	}
	if q.Force {
		w.do.EndByForce(k, children)
		return
	}
	w.canceled = append(w.canceled, k)
	if w.do.InterruptProgram() {
		w.resignal(resignalFirst)
	}
}

// TakeCancelled returns a running task whose cancellation was asked for, each once.
func (w *Worker) TakeCancelled() (id ids.Task, ok bool) {
	if len(w.canceled) == 0 {
		return id, false
	}
	id = w.canceled[0].Task
	w.canceled = w.canceled[1:]
	return id, true
}

// Cancelled reports whether the cancellation of a running task was asked for.
func (w *Worker) Cancelled(id ids.Task) bool {
	k := w.calls.of(id)
	return k != nil && k.cancel
}
