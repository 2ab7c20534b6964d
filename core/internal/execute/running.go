package execute

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/trace"
)

// start counts a call as running; its arguments are about to be fetched.
func (w *Worker) start(k *Call) {
	w.run(k)
	w.started = k.started
	// Answers of earlier calls are not to be lost with this one. Calls of one
	// function come in quick succession: theirs may share a write.
	if c := k.Caller; c.pipe.Unsent() > 0 && (k.Tmpl.Once || k.Tmpl != w.last || k.started.Sub(c.flushed) > shareFor) {
		c.pipe.Flush()
		c.flushed = k.started
		c.pipe.Sent()
	}
	w.last = k.Tmpl
	if k.feed != nil {
		w.listFeed(k)
	}
}

// run gives a call its token.
func (w *Worker) run(k *Call) {
	k.taken = true
	w.token++
	k.token = w.token
	w.calls.add(k)
	k.started = time.Now()
}

// Begin says that the arguments of a call are here and that the program runs it now.
func (w *Worker) Begin(k *Call) {
	if !k.again || w.laneOf(k).deferred == 0 { // else it overtakes what has not begun
		if w.page != nil {
			k.Caller.begins(k)
		}
		k.Caller.mark.Set(k.seq)
	}
	k.traced(trace.Begun)
}

// Running returns how many calls run, those included whose arguments are being fetched.
func (w *Worker) Running() int { return w.calls.len() }

// Call returns the running call of a token, nil when there is none.
func (w *Worker) Call(token uint64) *Call { return w.calls.get(token) }

// Runs reports whether the call still runs.
func (w *Worker) Runs(k *Call) bool { return w.calls.get(k.token) == k }

// OnlyTask returns the token of the call that runs when it is the only one and a
// task's, else 0.
func (w *Worker) OnlyTask() uint64 {
	if k := w.calls.only(); k != nil && k.Tmpl.Kind == frame.KindTask && k.Actor == nil {
		return k.token
	}
	return 0
}

// Finish forgets a running call and what its arguments held.
func (w *Worker) Finish(k *Call) {
	w.calls.remove(k)
	if k.cancel {
		w.canceled = slices.DeleteFunc(w.canceled, func(x *Call) bool { return x == k })
	}
	if k.feed != nil {
		w.endFeed(k)
	}
	w.letGo(k)
	w.takeBackIfIdle()
	if w.drained() {
		w.Stop("released")
	}
	w.leaveIfLast()
}

// letGo releases what was held for the arguments of a call.
func (w *Worker) letGo(k *Call) {
	if held := k.held; held != nil {
		k.held = nil
		w.do.Unpin(held)
	}
}

// begins notes that the call is about to run.
func (c *Caller) begins(k *Call) {
	// One that waited long for its arguments may come after later ones.
	if d := int32(k.seq - c.latest); d > 0 {
		c.latest = k.seq
		c.slot.Begin(k.seq)
	}
}
