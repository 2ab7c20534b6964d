package execute

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// Stop ends the worker for the given reason: its threads are woken, and no further call begins.
func (w *Worker) Stop(reason string) {
	if w.ended == "" {
		w.ended = reason
	}
	w.eachLane(w.wakeAll)
	w.leaveIfLast()
	w.do.NoMoreCalls()
}

// EndSession says that the session has ended.
func (w *Worker) EndSession() {
	w.closed = true
	w.Stop("the session ended")
}

// Ended returns why no more calls come, empty when they do.
func (w *Worker) Ended() (reason string) {
	if w.ended == "" && w.drained() {
		w.ended = "released"
	}
	return w.ended
}

// Going reports whether calls still come.
func (w *Worker) Going() bool { return w.ended == "" }

// Told notes that the thread of a lane knows that no more calls come.
func (w *Worker) Told(l *Lane) { w.told = w.told || l.Main() }

// Drain ends the actor after the calls that have arrived. Some may still be in
// the sockets' buffers: they are read first.
func (w *Worker) Drain() {
	w.draining, w.unread = true, true
	w.do.LookSoon()
}

// ReadsAll reports whether everything that has arrived has to be read. AllRead
// follows.
func (w *Worker) ReadsAll() bool { return w.unread && !w.backlog.full }

// AllRead says that everything was read that had arrived by the time of Drain.
func (w *Worker) AllRead() {
	if w.backlog.full {
		return
	}
	w.unread = false
	if w.drained() {
		w.Stop("released")
	}
}

// drained reports whether an actor that has to end has answered all its calls.
func (w *Worker) drained() bool {
	return w.draining && !w.unread && w.calls.len() == 0 && w.Waiting() == 0
}

// Serving reports whether the worker runs a call, or has to read more before it
// may end. While it is true, a thread has to read the sockets.
func (w *Worker) Serving() bool { return w.unread || w.calls.len() > 0 }

// Idle reports whether the process is a worker for tasks and runs none.
func (w *Worker) Idle() bool { return w.calls.len() == 0 && w.actorID == (ids.Actor{}) }

// Busy reports whether something runs or waits in a worker whose program has not
// been told to end.
func (w *Worker) Busy() bool { return !w.told && (w.calls.len() > 0 || w.Waiting() > 0) }

// FlushUntil sends the answers that wait, and waits until the deadline for the callers to read them.
func (w *Worker) FlushUntil(deadline time.Time) {
	for _, c := range w.callers {
		c.pipe.FlushUntil(deadline)
	}
}

// leaveIfLast wakes the thread that waits for the last calls to end, if they have ended.
func (w *Worker) leaveIfLast() {
	if len(w.leavers) == 0 || w.calls.len() > 0 && w.ended == "" {
		return
	}
	list := w.leavers
	w.leavers = nil
	for _, x := range list {
		w.do.Wake(x)
	}
}
