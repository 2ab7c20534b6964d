package execute

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
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
		w.undefer(k)
		w.dismiss(k)
		return
	}
	for _, k := range w.calls {
		if k.Task == id {
			w.interrupt(k, q)
			return
		}
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
	for _, k := range w.calls {
		if k.Task == id {
			return k.cancel
		}
	}
	return false
}

// find returns the call of a task that waits in any lane, nil if none does.
func (w *Worker) find(id ids.Task) *Call {
	if k := w.main.index.find(&w.main, id); k != nil {
		return k
	}
	for _, l := range w.groups {
		if k := l.index.find(l, id); k != nil {
			return k
		}
	}
	return nil
}

// queueIndex finds calls that wait, by task. It is made when something is
// cancelled, and knows the calls that were pushed until then.
type queueIndex struct {
	calls map[ids.Task]*Call
	upTo  int // of Lane.pushed
}

func (x *queueIndex) add(k *Call) {
	if x.calls == nil {
		x.calls = map[ids.Task]*Call{}
	}
	x.calls[k.Task] = k
}

// find returns the waiting call of a task, nil if there is none.
func (x *queueIndex) find(l *Lane, id ids.Task) *Call {
	fresh := min(l.pushed-x.upTo, len(l.queue))
	for _, k := range l.queue[len(l.queue)-fresh:] {
		if k.Tmpl != nil && k.Actor == nil {
			x.add(k)
		}
	}
	x.upTo = l.pushed
	k := x.calls[id]
	if k == nil || k.taken || k.Unread() {
		return nil
	}
	delete(x.calls, id)
	return k
}
