package execute

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// An actor may have concurrency groups. The calls of each group wait in a lane of
// their own, in order, and each lane has threads of its own, so no group waits
// for another. Calls of methods without a group wait in the default lane, which
// is the only one that other workers have.
//
// So the calls of one caller may begin in another order than they were sent in.
// When the actor's process dies, calls that were sent before one that had begun
// count as begun too, for the actor notes one number for each caller.

// SystemGroup is a concurrency group that every actor has. Its thread begins with
// the group's first call.
const SystemGroup = "_ray_system"

// MaxGroups is how many groups an actor may declare.
const MaxGroups = frame.MaxGroups

// Await arranges that the wait ends when there may be a call for the lane, or when no more calls come.
func (l *Lane) Await(w *wait.Wait) { l.waiting = append(l.waiting, w) }

// Unawait removes a wait that was given up.
func (l *Lane) Unawait(w *wait.Wait) {
	if i := slices.Index(l.waiting, w); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// Main reports whether this is the default lane.
func (l *Lane) Main() bool { return l.name == "" }

// Deferred reports whether calls of the lane wait for a lost argument.
func (l *Lane) Deferred() bool { return l.deferred > 0 }

// Len returns how many calls wait in the lane.
func (l *Lane) Len() int { return len(l.queue) }

// DeclareGroups says which concurrency groups this actor has beside the default
// one. The program has threads for all of them but the system group: serve, if it
// is set, begins the thread of that one when there is a call for it.
func (w *Worker) DeclareGroups(names []string, serve func()) error {
	if len(names) > MaxGroups {
		return fault.New(fault.BadRequest, "an actor may have at most %d concurrency groups, this one declares %d", MaxGroups, len(names))
	}
	w.groups, w.byName = nil, make(map[string]*Lane, len(names)+1)
	add := func(l *Lane) {
		if w.byName[l.name] == nil { // a group may be named twice
			w.groups = append(w.groups, l)
			w.byName[l.name] = l
		}
	}
	for _, name := range names {
		add(&Lane{name: name})
	}
	if serve != nil {
		add(&Lane{name: SystemGroup, serve: serve})
	}
	if len(names) > 0 {
		w.backlog.share = w.backlog.most / (1 + len(w.groups))
	}
	return nil
}

// Lane returns the lane of a group, nil when there is none. The name of the
// default lane is empty.
func (w *Worker) Lane(group string) *Lane {
	if group == "" {
		return &w.main
	}
	return w.byName[group]
}

// laneOf returns the lane in which a call waits.
func (w *Worker) laneOf(k *Call) *Lane {
	if k.Tmpl != nil && k.Tmpl.Group != "" {
		if l := w.byName[k.Tmpl.Group]; l != nil {
			return l
		}
	}
	return &w.main
}

// hasGroup reports whether the group in which a caller wants a call to run exists.
// The system group of an actor whose program runs all calls on one event loop is
// the default one.
func (w *Worker) hasGroup(k *Call) bool {
	g := k.Tmpl.Group
	return g == "" || g == SystemGroup || w.byName[g] != nil
}

// eachLane calls f with the default lane and those of the groups.
func (w *Worker) eachLane(f func(*Lane)) {
	f(&w.main)
	for _, l := range w.groups {
		f(l)
	}
}

// Waiting returns how many calls wait in all lanes.
func (w *Worker) Waiting() int {
	n := len(w.main.queue)
	for _, l := range w.groups {
		n += len(l.queue)
	}
	return n
}

// push queues a call and wakes a thread that waits for one.
func (w *Worker) push(k *Call) {
	l := w.laneOf(k)
	l.queue = append(l.queue, k)
	l.pushed++
	if !w.wakeOne(l) && l.serve != nil {
		l.serve()
		l.serve = nil
	}
}

// wakeOne wakes a thread of the lane, and reports whether one waited.
func (w *Worker) wakeOne(l *Lane) bool {
	if len(l.waiting) == 0 {
		return false
	}
	first := l.waiting[0]
	l.waiting = l.waiting[1:]
	w.do.Wake(first)
	return true
}

// wakeAll makes every thread of the lane look again.
func (w *Worker) wakeAll(l *Lane) {
	for _, x := range l.waiting {
		w.do.Wake(x)
	}
	l.waiting = nil
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
