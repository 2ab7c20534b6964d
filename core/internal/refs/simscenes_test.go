package refs

import (
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sim"
)

// Scenes that come about by chance too seldom: a process gets a reference and passes it on to another node at once, when nobody
// but itself knows that yet. Its node may die then.

// scene has a member of a node play one of them with members of other nodes.
func (w *nodesWorld) scene(room []*member) {
	b := sim.Pick(w.die, room)
	others := slices.DeleteFunc(slices.Clone(w.members), func(m *member) bool { return m.dead || slices.Contains(room, m) })
	if len(others) < 2 {
		return
	}
	i := w.die.N(len(others))
	a := others[i]
	c := sim.Pick(w.die, slices.Delete(others, i, i+1))
	if w.die.OneIn(2) {
		w.passesAnArgument(a, b, c)
	} else {
		w.passesAResult(a, b, c)
	}
}

// some returns a reference that a member has, or one to a new value.
func (w *nodesWorld) some(m *member) ids.Object {
	if all := m.all(); len(all) > 0 && w.die.OneIn(2) {
		return sim.Pick(w.die, all)
	}
	return m.put()
}

// passesAnArgument has a call b, which passes the argument on to c and answers. Whether its owner has heard of b by then is left to chance.
func (w *nodesWorld) passesAnArgument(a, b, c *member) {
	x := w.some(a)
	out := a.call(b, x)
	i := w.runs(a, b, out)
	if i < 0 {
		return
	}
	if w.die.OneIn(2) {
		w.pump(stream{b, w.ownerOf(x), nil})
	}
	b.call(c, x)
	b.answer(i)
	w.pump(stream{b, a, a.socketTo(b)})
	for _, id := range []ids.Object{x, out} {
		if a.holds[id] > 0 {
			a.drop(id)
		}
	}
}

// passesAResult has b call a, which returns a reference that b passes on to c.
func (w *nodesWorld) passesAResult(a, b, c *member) {
	out := b.call(a)
	i := w.runs(b, a, out)
	if i < 0 {
		return
	}
	y := w.some(a)
	if w.leadsTo(y, out) {
		return
	}
	a.answer(i, y)
	a.drop(y)
	w.pump(stream{a, b, b.socketTo(a)})
	if b.holds[out] > 0 && b.open(out) && b.holds[y] > 0 {
		b.call(c, y)
		if w.die.OneIn(2) {
			w.pump(stream{b, a, nil})
		}
	}
}

// runs has a call arrive, and returns its place among those that the worker runs; -1 if it does not arrive.
func (w *nodesWorld) runs(caller, worker *member, out ids.Object) int {
	w.pump(stream{caller, worker, caller.socketTo(worker)})
	return slices.IndexFunc(worker.running, func(x *execution) bool { return x.out == out })
}

// pump has all messages of a connection arrive.
func (w *nodesWorld) pump(k stream) {
	for len(w.links[k]) > 0 {
		w.arrive(k)
	}
}
