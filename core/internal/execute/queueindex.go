package execute

import "github.com/eagleray/eagleray/core/ids"

// add notes a call that waits.
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
