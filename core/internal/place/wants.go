package place

import (
	"cmp"
	"slices"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// add makes the row of a class, with level 0.
func (m *Machine) add(k Key, q *Want) *want {
	w := &want{key: k, name: q.Name, offered: q.Offered, strategy: q.Strategy, ranks: ranksOf(q.Strategy)}
	if q.Strategy.Kind == strategy.Spread {
		w.given = make(map[Node]int)
	}
	for _, set := range q.Needs {
		w.needs = append(w.needs, m.needOf(set, m.nodes[k.Node].speaks))
	}
	w.job, w.client = m.turnOf(who{job: q.Job}), m.turnOf(who{q.Job, k.Node, k.Client})
	m.wants[k] = w
	return w
}

// drop forgets a class. Its offers go on.
func (m *Machine) drop(w *want) {
	m.setLevel(w, 0, 0)
	for _, d := range w.needs {
		m.release(d)
	}
	w.job.uses--
	w.client.uses--
	m.trimTurns()
	m.nodes[w.key.Node].wants--
	delete(m.wants, w.key)
}

// sameNeeds reports whether the class asks for these.
func (w *want) sameNeeds(sets []resource.Set) bool {
	return slices.EqualFunc(w.needs, sets, func(d *need, s resource.Set) bool { return d.set.Equal(s) })
}

// setLevel sets how many leases are wanted.
func (m *Machine) setLevel(w *want, n, due int) {
	waited := w.level > 0
	w.level, w.due = n, min(due, n)
	switch waits := n > 0; {
	case waits && !waited:
		m.sequence++
		w.since = m.sequence
		for i, d := range w.needs {
			if slices.Index(w.needs, d) == i {
				d.wait = append(d.wait, w)
			}
		}
		m.unjudged = append(m.unjudged, w)
		if m.isDoomed(w.strategy) {
			m.doomed = append(m.doomed, w)
		}
		m.waitsAnew(w)
		m.patientAnew(w)
	case !waits && waited:
		w.told = false
		for _, d := range w.needs {
			d.wait = slices.DeleteFunc(d.wait, func(o *want) bool { return o == w })
		}
	}
}

// before reports whether w is served before o: those whose job, process or class was served longer ago come first, and
// then those that have waited for longer.
func (w *want) before(o *want) bool {
	return cmp.Or(cmp.Compare(w.job.served, o.job.served), cmp.Compare(w.client.served, o.client.served),
		cmp.Compare(w.served, o.served), cmp.Compare(w.since, o.since)) < 0
}

// keptTurns is how many turns are kept of jobs and processes that want nothing. Without that, whoever wants one
// lease after the other would always come first.
const keptTurns = 1024

func (m *Machine) turnOf(k who) *turn {
	t := m.turns[k]
	if t == nil {
		t = &turn{who: k}
		m.turns[k] = t
	}
	t.uses++
	return t
}

// trimTurns forgets the turns that are oldest and not in use, once there are twice as many as are kept.
func (m *Machine) trimTurns() {
	if len(m.turns) < 2*keptTurns {
		return
	}
	var idle []*turn
	for _, t := range m.turns {
		if t.uses == 0 {
			idle = append(idle, t)
		}
	}
	slices.SortFunc(idle, func(a, b *turn) int {
		return cmp.Or(cmp.Compare(a.served, b.served), slices.Compare(a.who.job[:], b.who.job[:]), cmp.Compare(a.who.node, b.who.node), cmp.Compare(a.who.client, b.who.client))
	})
	for _, t := range idle[:max(0, len(idle)-keptTurns)] {
		delete(m.turns, t.who)
	}
}
