package execute

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wait"
)

// Stop says why the worker ends: its threads are woken and no calls come any more.
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

// Told says that the thread of a lane was told that no more calls come.
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

// drained reports whether an actor that is to end has done all that it was asked.
func (w *Worker) drained() bool {
	return w.draining && !w.unread && len(w.calls) == 0 && w.Waiting() == 0
}

// Serving reports whether the worker runs a call, or has to read more before it
// may end: then somebody has to read the sockets.
func (w *Worker) Serving() bool { return w.unread || len(w.calls) > 0 }

// Idle reports whether the process is a worker for tasks and runs none.
func (w *Worker) Idle() bool { return len(w.calls) == 0 && w.actorID == (ids.Actor{}) }

// Busy reports whether something runs or waits in a worker whose program has not
// been told to end.
func (w *Worker) Busy() bool { return !w.told && (len(w.calls) > 0 || w.Waiting() > 0) }

// FlushUntil sends what callers are to read, and waits for them until the deadline.
func (w *Worker) FlushUntil(deadline time.Time) {
	for _, c := range w.callers {
		c.pipe.FlushUntil(deadline)
	}
}

// An actor may end itself while other calls of it run: exit_actor,
// __ray_terminate__ and sys.exit(0) in one of its threads, coroutines or
// concurrency groups. As under Ray, what runs goes on to its end and is answered,
// and what has not begun never does: its callers hear of the actor's end. The
// caller of what ends the actor does not wait for the rest.

// Leave ends the call of the token and lets no other call begin.
func (w *Worker) Leave(token uint64) {
	w.leaving = true
	k := w.calls[token]
	switch {
	case k == nil:
	case len(w.calls) > 1:
		w.AnswerFault(k, fault.New(fault.ActorDied, "The actor ended in %s, which has no result.", k.Tmpl.Name))
	default: // the actor's end, which comes now, tells more
		w.Finish(k)
	}
}

// AwaitLast has the wait ended when the last call has ended, or the worker is
// stopped. It returns false when that is so already.
func (w *Worker) AwaitLast(x *wait.Wait) bool {
	if len(w.calls) == 0 || w.ended != "" {
		return false
	}
	w.leavers = append(w.leavers, x)
	return true
}

// UnawaitLast takes a wait back that was given up.
func (w *Worker) UnawaitLast(x *wait.Wait) {
	w.leavers = slices.DeleteFunc(w.leavers, func(y *wait.Wait) bool { return y == x })
}

// leaveIfLast wakes who waits for the last calls to end.
func (w *Worker) leaveIfLast() {
	if len(w.leavers) == 0 || len(w.calls) > 0 && w.ended == "" {
		return
	}
	list := w.leavers
	w.leavers = nil
	for _, x := range list {
		w.do.Wake(x)
	}
}
