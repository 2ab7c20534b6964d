package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// judge says which wants are infeasible and were not called so before. It looks at the wants that have begun to wait,
// and at all of them when what nodes have in all has changed.
func (m *Machine) judge() {
	if m.waits || m.unheard > 0 {
		if len(m.unjudged) > 2*len(m.wants) { // most of them have ended meanwhile
			m.unjudged, m.judgeAll = nil, true
		}
		return
	}
	m.judgeHomeless()
	list := m.unjudged
	if m.judgeAll || m.judged != m.shape {
		m.judgeAll, m.judged = false, m.shape
		list = nil
		for _, w := range m.wants {
			list = append(list, w)
		}
		slices.SortFunc(list, func(a, b *want) int { return cmp.Compare(a.since, b.since) })
	}
	m.unjudged = nil
	for _, w := range list {
		switch {
		case w.level == 0:
		case slices.ContainsFunc(w.needs, m.isPossible):
			w.told = false
		case !w.told:
			w.told = true
			m.emit(Infeasible{w.key, m.whyInfeasible("task "+w.name, w.needs) + " Lower the remote function's resources, add a node that has them (eagleray start --address=… --num-cpus=… --resources=…), or wait for a larger cluster with infeasible=\"wait\"."})
		}
	}
}

// judgeHomeless says which actors are infeasible and were not called so before.
func (m *Machine) judgeHomeless() {
	if !m.judgeActors && m.judged == m.shape {
		return
	}
	m.judgeActors = false
	for _, a := range m.homeless {
		switch {
		case slices.ContainsFunc(a.needs, m.isPossible):
			if a.told { // a node that is silent has what it needs
				a.told = false
				m.emit(ActorFeasible{a.ID})
			}
		case !a.told && !a.Wait:
			a.told = true
			m.emit(ActorInfeasible{a.ID, m.whyInfeasible("actor "+a.Name, a.needs) + " Ask for less, add a node that has it (eagleray start --address=… --num-cpus=… --resources=…), or wait for a larger cluster with infeasible=\"wait\"."})
		}
	}
}

// whyInfeasible says in words why no node can serve a task or an actor.
func (m *Machine) whyInfeasible(who string, needs []*need) string {
	most := m.Largest()
	why := make([]string, len(needs))
	for i, d := range needs {
		asked := make(resource.Set)
		for name := range d.set {
			asked[name] = most[name]
		}
		text := resource.Shortage(d.set, most)
		if text == "" {
			text = m.whyNearest(d.set)
		}
		if i > 0 {
			why[i] = fmt.Sprintf("%s (%s)", d.set, text)
		} else {
			why[i] = fmt.Sprintf("%s needs %s but the nodes of the cluster have at most %s (%s)", who, d.set, asked, text)
		}
	}
	text := why[0]
	if len(why) > 1 {
		text += "; of its fallback nothing fits either: " + strings.Join(why[1:], ", ")
	}
	return text + "."
}

// whyNearest says what the first node lacks that has enough of everything by its sums: a device that is large enough, say.
func (m *Machine) whyNearest(need resource.Set) string {
	for _, n := range m.slots {
		if n != nil && n.ledger != nil && resource.Shortage(need, n.totals) == "" {
			why, _ := n.ledger.CanEver(need)
			return why
		}
	}
	return "no node has all of it"
}

// Largest returns the most of each resource that one node has in all.
func (m *Machine) Largest() resource.Set {
	most := make(resource.Set)
	for _, n := range m.nodes {
		for name, total := range n.totals {
			most[name] = max(most[name], total)
		}
	}
	return most
}
