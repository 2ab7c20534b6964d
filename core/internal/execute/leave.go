package execute

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// An actor may end itself while other calls of it run: exit_actor,
// __ray_terminate__ and sys.exit(0) in one of its threads, coroutines or
// concurrency groups. As under Ray, what runs goes on to its end and is answered,
// and what has not begun never does: its callers hear of the actor's end. The
// caller of what ends the actor does not wait for the rest.

// Leave ends the call of the token and lets no other call begin.
func (w *Worker) Leave(token uint64) {
	w.leaving = true
	k := w.calls.get(token)
	if k != nil {
		w.ran.note(k, 0) // it has done what it was to do
		w.ran.timed(k, time.Since(k.started))
	}
	switch {
	case k == nil:
	case w.calls.len() > 1:
		w.AnswerFault(k, fault.New(fault.ActorDied, "The actor ended itself in %s (INTENDED_USER_EXIT), so this call has no result.", k.Tmpl.Name))
	default: // the actor's end, which comes now, tells more
		w.Finish(k)
	}
}

// AwaitLast arranges that the wait ends when the last call has ended, or the worker is
// stopped. It returns false when that is so already.
func (w *Worker) AwaitLast(x *wait.Wait) bool {
	if w.calls.len() == 0 || w.ended != "" {
		return false
	}
	w.leavers = append(w.leavers, x)
	return true
}

// UnawaitLast removes a wait that was given up.
func (w *Worker) UnawaitLast(x *wait.Wait) {
	w.leavers = slices.DeleteFunc(w.leavers, func(y *wait.Wait) bool { return y == x })
}
