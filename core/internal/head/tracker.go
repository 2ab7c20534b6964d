package head

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// tracker knows what this head has asked for about each actor, and who waits for the actor.
type tracker struct {
	actors map[ids.Actor]*tracked
}

// tracked is the soft state of one actor that is live or waited for.
type tracked struct {
	placed     uint64 // the latest incarnation that the placer was asked to start, or that is known to run
	drained    uint64 // the latest incarnation that the placer was asked to drain
	infeasible string // why no node can take it; "" when one can
	waiters    []*waiter
}

func newTracker() *tracker { return &tracker{actors: map[ids.Actor]*tracked{}} }

// An action is what the head has to do. Exactly one field is set.
type action struct {
	place *record.Actor     // ask the placer to start the record's incarnation
	stop  *record.Instance  // ask the placer to end this instance
	how   Stop              // how it ends
	end   *record.Actor     // give the actor up: it was released and cannot be placed
	tell  *waiter           // answer this waiter
	as    record.Resolution // with this
}

// String is what the tests' traces show.
func (a action) String() string {
	switch {
	case a.place != nil:
		return fmt.Sprintf("place %s incarnation %d", a.place.ClassName, a.place.Incarnation)
	case a.stop != nil:
		return fmt.Sprintf("stop %s incarnation %d", a.how, a.stop.Incarnation)
	case a.end != nil:
		return fmt.Sprintf("give up %s", a.end.ClassName)
	}
	return fmt.Sprintf("tell %s: %s", a.tell.name, a.as)
}

func (t *tracker) get(id ids.Actor) *tracked {
	e := t.actors[id]
	if e == nil {
		e = &tracked{}
		t.actors[id] = e
	}
	return e
}

// actor takes an actor's record after a change, in order. Only a head that
// leads starts and stops workers.
func (t *tracker) actor(a *record.Actor, leading bool) []action {
	switch a.State {
	case record.ActorDead:
		return t.dead(a, leading)
	case record.ActorAlive:
		return t.alive(a, leading)
	}
	e := t.get(a.ID)
	e.known()
	out := e.tell(func(w *waiter) bool { return w.ended && w.after < a.Incarnation }, resolved(a))
	if !leading {
		return out
	}
	if e.placed < a.Incarnation {
		if a.State == record.ActorRestarting {
			out = append(out, e.stop(a.Previous, a.Cause.Reason)...)
		}
		e.placed, e.infeasible = a.Incarnation, ""
		return append(out, action{place: a})
	}
	if a.Released && e.infeasible != "" {
		out = append(out, action{end: a})
	}
	return out
}

func (t *tracker) alive(a *record.Actor, leading bool) []action {
	e := t.get(a.ID)
	e.known()
	e.infeasible = ""
	out := e.tell(func(w *waiter) bool { return w.after < a.Incarnation }, resolved(a))
	if !leading {
		return out
	}
	e.placed = max(e.placed, a.Incarnation)
	if a.Released && e.drained < a.Incarnation {
		e.drained = a.Incarnation
		i := a.Instance()
		out = append(out, action{stop: &i, how: StopDrain})
	}
	return out
}

func (t *tracker) dead(a *record.Actor, leading bool) []action {
	e := t.actors[a.ID]
	if e == nil {
		return nil // it was dead before this head looked
	}
	delete(t.actors, a.ID)
	out := e.tell(func(*waiter) bool { return true }, resolved(a))
	if leading {
		out = append(out, e.stop(a.Instance(), a.Cause.Reason)...)
	}
	return out
}

// stop ends what the placer was asked to start, unless the reason says that its worker is
// gone. When events were missed, the reason belongs to a later incarnation.
func (e *tracked) stop(ended record.Instance, r record.Reason) []action {
	switch {
	case e.placed == 0, e.placed == ended.Incarnation && r.WorkerGone():
		return nil
	case e.placed != ended.Incarnation:
		ended = record.Instance{Actor: ended.Actor, Incarnation: e.placed}
	}
	return []action{{stop: &ended, how: StopNow}}
}

// infeasible notes that no node can ever take the incarnation, as the placer says. An empty
// message takes that back.
func (t *tracker) infeasible(a *record.Actor, incarnation uint64, message string) []action {
	if !a.Live() || a.State == record.ActorAlive || a.Incarnation != incarnation {
		return nil
	}
	e := t.get(a.ID)
	e.infeasible = message
	switch {
	case message == "":
		return nil
	case a.Released:
		return []action{{end: a}}
	}
	return e.tell(func(w *waiter) bool { return !w.ended }, unschedulable(a, message))
}

// wait answers the waiter at once if the answer is known, and keeps the waiter otherwise.
func (t *tracker) wait(a *record.Actor, w *waiter) []action {
	if !a.Live() || a.Incarnation > w.after && (w.ended || a.State == record.ActorAlive) {
		return []action{{tell: w, as: resolved(a)}}
	}
	e := t.get(a.ID)
	if e.infeasible != "" && !w.ended {
		return []action{{tell: w, as: unschedulable(a, e.infeasible)}}
	}
	e.waiters = append(e.waiters, w)
	return nil
}

// expect keeps a waiter for an actor that nobody knows yet.
func (t *tracker) expect(id ids.Actor, w *waiter) {
	w.expects = true
	e := t.get(id)
	e.waiters = append(e.waiters, w)
}

// known notes that the actor is registered.
func (e *tracked) known() {
	for _, w := range e.waiters {
		w.expects = false
	}
}

// giveUp drops a waiter whose actor is still unknown. It reports whether that is so.
func (t *tracker) giveUp(id ids.Actor, w *waiter) bool {
	if !w.expects {
		return false
	}
	t.forget(id, w)
	return true
}

// forget drops a waiter, and an actor of which nothing else is known.
func (t *tracker) forget(id ids.Actor, w *waiter) {
	e := t.actors[id]
	if e == nil {
		return
	}
	e.waiters = slices.DeleteFunc(e.waiters, func(o *waiter) bool { return o == w })
	if len(e.waiters) == 0 && e.placed == 0 && e.drained == 0 && e.infeasible == "" {
		delete(t.actors, id)
	}
}

// forgetPlaced is called when this head begins or stops leading, because it cannot know what
// another leader has asked for.
func (t *tracker) forgetPlaced() {
	for _, e := range t.actors {
		e.placed, e.drained = 0, 0
	}
}

// resync looks at all records again, in order of registration, because events were missed.
func (t *tracker) resync(all []record.Actor, leading bool) []action {
	known := make(map[ids.Actor]bool, len(all))
	var out []action
	for i := range all {
		known[all[i].ID] = true
		out = append(out, t.actor(&all[i], leading)...)
	}
	for id, e := range t.actors { // no order between actors that nobody knows
		if !known[id] {
			gone := record.Actor{ID: id, State: record.ActorDead, Cause: record.Cause{Message: "its record is no longer kept"}}
			out = append(out, e.tell(func(w *waiter) bool { return !w.expects }, resolved(&gone))...)
			if len(e.waiters) == 0 {
				delete(t.actors, id)
			}
		}
	}
	return out
}

// tell answers the waiters that match, in order of arrival, and drops them.
func (e *tracked) tell(match func(*waiter) bool, r record.Resolution) (out []action) {
	e.waiters = slices.DeleteFunc(e.waiters, func(w *waiter) bool {
		if match(w) {
			out = append(out, action{tell: w, as: r})
			return true
		}
		return false
	})
	return out
}
