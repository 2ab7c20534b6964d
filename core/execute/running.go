package execute

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/progress"
	"github.com/eagleray/eagleray/core/trace"
	"github.com/eagleray/eagleray/core/wire"
)

// Answers of one caller that follow each other soon share a write.
const (
	shareBytes = 4096                   // so much is sent at once
	shareFor   = 500 * time.Microsecond // what runs for longer has its answer sent at once
)

// start counts a call as running whose arguments are about to be fetched.
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
		w.feeding = append(w.feeding, k)
	}
}

// run gives a call its token.
func (w *Worker) run(k *Call) {
	k.taken = true
	w.token++
	k.token = w.token
	w.calls[k.token] = k
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
func (w *Worker) Running() int { return len(w.calls) }

// Call returns the running call of a token, nil when there is none.
func (w *Worker) Call(token uint64) *Call { return w.calls[token] }

// Runs reports whether the call still runs.
func (w *Worker) Runs(k *Call) bool { return w.calls[k.token] == k }

// OnlyTask returns the token of the call that runs when it is the only one and a
// task's, else 0.
func (w *Worker) OnlyTask() uint64 {
	if len(w.calls) != 1 {
		return 0
	}
	for token, k := range w.calls {
		if k.Tmpl.Kind == frame.KindTask && k.Actor == nil {
			return token
		}
	}
	return 0
}

// Defer puts a call of an actor back that has not begun because some of its
// arguments are lost: it waits at the head of the queue, behind its caller's earlier calls. A call that is
// over instead, because it was cancelled or its caller has left, is ended, and
// false returned. Arrived is called when the arguments are there.
func (w *Worker) Defer(k *Call) bool {
	switch {
	case k.cancel:
		w.Send(k, wire.ReplyCancelled, w.Took(k), 0, nil)
		return false
	case k.Unread():
		w.Finish(k)
		return false
	}
	w.unfeed(k)
	delete(w.calls, k.token)
	w.takeBackIfIdle()
	k.taken = false
	k.misses++
	k.deferred = true
	l := w.laneOf(k)
	l.deferred++
	l.putBack(k)
	l.index.add(k)
	return true
}

// Arrived says that the arguments for which a deferred call waited are there.
func (w *Worker) Arrived(k *Call) {
	w.undefer(k)
	w.wakeAll(w.laneOf(k))
}

func (w *Worker) undefer(k *Call) {
	if k.deferred {
		k.deferred = false
		w.laneOf(k).deferred--
	}
}

// GiveLost gives a task back that cannot begin because arguments of it are lost:
// 0 stands for its arguments, i for its i-th reference. Its caller holds these,
// and no worker has to wait.
func (w *Worker) GiveLost(k *Call, lost []int) {
	p := k.Caller.pipe
	w.Finish(k)
	if p.Closed() {
		return
	}
	p.Queue(frame.AppendLost(p.Buffer(), k.seq, lost))
	p.Flush()
}

// Finish forgets a running call and what its arguments held.
func (w *Worker) Finish(k *Call) {
	delete(w.calls, k.token)
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

// letGo gives back what was held for the arguments of a call.
func (w *Worker) letGo(k *Call) {
	if held := k.held; held != nil {
		k.held = nil
		w.do.Unpin(held)
	}
}

// BecomeActor queues the constructor of the actor that this worker is from now
// on. The specification is the class's template and the constructor's call; an
// alternative's template takes the first one's place. On the page the actor notes
// which calls have begun; nil: it does not restart.
func (w *Worker) BecomeActor(s *wire.ActorStart, page *progress.Writer) error {
	w.page = page
	k, err := w.constructor(s)
	if err != nil {
		return err
	}
	copy(w.actorID[:], s.ActorID)
	w.push(k)
	return nil
}
