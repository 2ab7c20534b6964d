package refs

import "github.com/eagleray/eagleray/core/internal/wait"

// A thread that waits for many objects puts the id of its wait on each of them.
// What becomes ready with an id on it is counted by the wait that has this id.
// So beginning a wait costs one store for each object, and ending it costs
// nothing: an id that no wait has any more means nothing. A program that waits
// for a thousand tasks one by one begins a thousand waits, each over all tasks
// that are left.
//
// An object has room for one id. Further waits for it are in its watch. Ids are
// not handed over: a process that moves has no thread that waits.

// WatchAll has the wait count what becomes ready of the objects, until UnwatchAll.
func (t *Table) WatchAll(w *wait.Wait, objects []*Object) {
	if t.lastWait++; t.lastWait == 0 { // an object without an id has 0
		t.lastWait++
	}
	t.waits = append(t.waits, identified{id: t.lastWait, wait: w})
	x := &t.waits[len(t.waits)-1]
	for _, o := range objects {
		switch {
		case o.state.Ready():
		case o.waitID == 0 || t.waitOf(o.waitID) == nil:
			o.waitID = x.id
		default:
			t.Watch(o, w)
			x.beside = append(x.beside, o)
		}
	}
}

// UnwatchAll undoes WatchAll.
func (t *Table) UnwatchAll(w *wait.Wait) {
	for i := range t.waits {
		if x := t.waits[i]; x.wait == w {
			last := len(t.waits) - 1
			t.waits[i], t.waits[last] = t.waits[last], identified{}
			t.waits = t.waits[:last]
			for _, o := range x.beside {
				t.Unwatch(o, w)
			}
			return
		}
	}
}

// WaitsBegun returns how often WatchAll was called.
func (t *Table) WaitsBegun() uint32 { return t.lastWait }

// WaitsOpen calls f with each wait between WatchAll and UnwatchAll.
func (t *Table) WaitsOpen(f func(*wait.Wait)) {
	for i := range t.waits {
		f(t.waits[i].wait)
	}
}
