package execute

import (
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// An actor's call that takes something lost is deferred: it goes back to the head
// of the queue, behind earlier calls of its caller, and its caller's calls behind
// it do not overtake it. Only calls that run again for lost results do, because
// the deferred call may wait for one of them.

// Defer puts a call of an actor back that has not begun because some of its
// arguments are lost: it waits at the head of the queue, behind its caller's
// earlier calls. Arrived is called when the arguments are there. A call that was
// cancelled, or whose caller has left, is ended instead, and Defer returns false.
func (w *Worker) Defer(k *Call) bool {
	switch {
	case k.cancel:
		w.Send(k, wire.ReplyCancelled, w.Took(k), 0, nil, 0)
		return false
	case k.Unread():
		w.Finish(k)
		return false
	}
	w.unfeed(k)
	w.calls.remove(k)
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

// undefer says that a call does not wait for a lost argument any more.
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
