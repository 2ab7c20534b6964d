package execute

// Head returns the call of the lane that Next would return. It returns nil when there is
// none, or when no call may begin any more. On the way it removes calls that were answered
// in the queue, and calls of callers that have left.
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
// running. It returns nil if there is none. The session fetches the call's arguments, and
// then calls the event that says what becomes of the call (see doc.go).
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
