package execute

import "slices"

// An actor's call that takes something lost is deferred: it goes back to the
// head of the queue, behind earlier calls of its caller, and its caller's calls behind it do not overtake it. Only calls that
// run again for lost results do: what it waits for may be one of these.

// Head returns the call of the lane that Next would give, nil when there is none
// or nothing is to begin any more. What was answered in the queue, and the calls
// of those who have left, leave the queue on the way.
func (w *Worker) Head(l *Lane) *Call {
	_, k := w.head(l)
	return k
}

func (w *Worker) head(l *Lane) (at int, k *Call) {
	for !w.leaving && len(l.queue) > 0 {
		if at = l.first(); at < 0 {
			return at, nil
		}
		k = l.queue[at]
		if k.Assign != nil || !k.taken && (k.Actor != nil || !k.Unread()) {
			return at, k
		}
		l.remove(at)
		w.unqueued(k)
	}
	if len(l.queue) == 0 && l.index.calls != nil {
		l.index.calls = nil
	}
	return 0, nil
}

// Next takes the call whose turn it is out of the lane's queue and counts it as
// running; nil: there is none. The session fetches its arguments, and then tells
// what becomes of the call.
func (w *Worker) Next(l *Lane) *Call {
	at, k := w.head(l)
	if k == nil {
		return nil
	}
	l.remove(at)
	w.unqueued(k)
	if k.Assign == nil {
		w.start(k)
	}
	return k
}

// first returns the place of the call whose turn it is, -1 when each call of the
// queue waits for a lost argument or for such a call.
func (l *Lane) first() int {
	if l.deferred == 0 {
		return 0
	}
	held := map[*Caller]bool{}
	for i, k := range l.queue {
		switch {
		case k.deferred:
			held[k.Caller] = true
		case k.again || !held[k.Caller]:
			return i
		}
	}
	return -1
}

// putBack puts a call back that was taken out of the queue: to the head, but
// behind all earlier calls of its caller.
func (l *Lane) putBack(k *Call) {
	at := 0
	for i, q := range l.queue {
		if q.Caller == k.Caller && int32(q.seq-k.seq) < 0 {
			at = i + 1
		}
	}
	l.queue = slices.Insert(l.queue, at, k)
}

// remove takes a call out of the queue.
func (l *Lane) remove(at int) {
	if at > 0 {
		l.queue = slices.Delete(l.queue, at, at+1)
		return
	}
	l.queue[0] = nil
	l.queue = l.queue[1:]
}
