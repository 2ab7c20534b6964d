package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// judge says which wants are infeasible and were not called so before. It looks at the wants that have begun to wait,
// and at all of them when what nodes have in all has changed.
func (m *Machine) judge() {
	m.judgeDoomed()
	if m.waits || m.unheard > 0 {
		if len(m.unjudged) > 2*len(m.wants) { // most of them have ended meanwhile
			m.unjudged, m.judgeAll = nil, true
		}
		return
	}
	m.judgeHomeless()
	m.judgeWaitingGroups()
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
		case w.level == 0, w.strategy.Kind == strategy.Group && !m.onWrongNodes(w.ranks, w.needs): // whoever follows the group says that it is of no use
		case slices.ContainsFunc(w.needs, func(d *need) bool { return m.canEver(w.strategy, w.ranks, d) }):
			w.told = false
		case !w.told:
			m.refuse(w)
		}
	}
}

// refuse says that a want is infeasible.
func (m *Machine) refuse(w *want) {
	w.told = true
	m.emit(Infeasible{w.key, m.whyInfeasible("task "+w.name, w.strategy, w.ranks, w.needs, " Lower the remote function's resources, add a node that has them (eagleray start --address=… --num-cpus=… --resources=…), or wait for a larger cluster with infeasible=\"wait\"."), false})
}

// refuseActor says that an actor is infeasible.
func (m *Machine) refuseActor(a *actor) {
	a.told = true
	m.emit(ActorInfeasible{a.ID, m.whyInfeasible("actor "+a.Name, a.Strategy, a.ranks, a.needs, " Ask for less, add a node that has it (eagleray start --address=… --num-cpus=… --resources=…), or wait for a larger cluster with infeasible=\"wait\".")})
}

// judgeDoomed calls infeasible what must run on a node that is dead.
func (m *Machine) judgeDoomed() {
	for _, w := range m.doomed {
		if w.level > 0 && !w.told && m.wants[w.key] == w {
			m.refuse(w)
		}
	}
	for _, a := range m.doomedA {
		if !a.told && a.at == 0 && m.actors[a.ID] == a {
			m.refuseActor(a)
		}
	}
	m.doomed, m.doomedA = nil, nil
}

// judgeHomeless says which actors are infeasible and were not called so before.
func (m *Machine) judgeHomeless() {
	if !m.judgeActors && m.judged == m.shape {
		return
	}
	m.judgeActors = false
	for _, a := range m.homeless {
		switch {
		case slices.ContainsFunc(a.needs, func(d *need) bool { return m.canEver(a.Strategy, a.ranks, d) }):
			if a.told { // a node that is silent has what it needs
				a.told = false
				m.emit(ActorFeasible{a.ID})
			}
		case a.Strategy.Kind == strategy.Group && !m.onWrongNodes(a.ranks, a.needs): // its head ends it with the group
		case !a.told && (!a.Wait || mustRunOn(a.Strategy)):
			m.refuseActor(a)
		}
	}
}

// whyInfeasible says in words why no node can serve a task or an actor, and what to change.
func (m *Machine) whyInfeasible(who string, s strategy.Strategy, r *ranks, needs []*need, change string) string {
	switch {
	case mustRunOn(s):
		return m.whyNotThere(who, s, r, needs)
	case r != nil:
		return m.whyNoLabels(who, s, r, needs)
	}
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
	return text + "." + change
}

// canEver reports whether a node that the strategy allows could have the need if all were free, silent nodes included.
func (m *Machine) canEver(s strategy.Strategy, r *ranks, d *need) bool {
	switch {
	case !mustRunOn(s) && r == nil:
		return m.isPossible(d)
	case !mustRunOn(s):
		return slices.ContainsFunc(m.slots, func(n *node) bool { return n != nil && n.ledger != nil && m.mayAllow(r, n) && n.ledger.Could(d.set) })
	}
	n := m.named[s.Node]
	return !m.dead[s.Node] && n != nil && n.ledger != nil && d.talks(n) && m.mayAllow(r, n) && n.ledger.Could(d.set)
}

// whyNotThere says in words why the node that a task or an actor names cannot serve it.
func (m *Machine) whyNotThere(who string, s strategy.Strategy, r *ranks, needs []*need) string {
	const do = "Name a node of ray.nodes() that is alive, or use soft=True, with which another node does."
	n := m.named[s.Node]
	if n == nil || n.ledger == nil || m.dead[s.Node] {
		return fmt.Sprintf("%s must run on node %s (NodeAffinitySchedulingStrategy with soft=False), and no such node of the cluster is alive. %s", who, s.Node, do)
	}
	if d := needs[0]; !d.talks(n) {
		return fmt.Sprintf("%s must run on node %s (NodeAffinitySchedulingStrategy with soft=False), which is of another release: its processes speak version %d, and those of the node of this program version %d. Run the program on a node of that release, or use soft=True, with which another node does.", who, s.Node, n.speaks, d.key.speaks)
	}
	if !m.mayAllow(r, n) {
		return fmt.Sprintf("%s must run on node %s (NodeAffinitySchedulingStrategy with soft=False), which does not have the labels %s. Ask for other labels or another node, or use soft=True, with which another node does.", who, s.Node, r.list)
	}
	why := make([]string, len(needs))
	for i, d := range needs {
		text, _ := n.ledger.CanEver(d.set)
		why[i] = fmt.Sprintf("%s (%s)", d.set, strings.ReplaceAll(text, "the cluster", "the node"))
	}
	return fmt.Sprintf("%s must run on node %s (NodeAffinitySchedulingStrategy with soft=False), which can never give %s. %s", who, s.Node, strings.Join(why, ", or "), do)
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

// judgeWaitingGroups says which groups are infeasible and were not called so before.
func (m *Machine) judgeWaitingGroups() {
	if !m.judgeGroups && m.judged == m.shape {
		return
	}
	m.judgeGroups = false
	for _, g := range m.waitingGroups {
		could := m.couldGroup(g)
		switch {
		case could && g.told:
			g.told = false
			m.emit(GroupFeasible{g.ID})
		case !could && !g.told && !g.Wait:
			g.told = true
			m.emit(GroupInfeasible{g.ID, packing.Why(g.Name, g.Strategy, g.Bundles, m.Largest(), m.lacksLabels(g))})
		}
	}
}

// couldGroup reports whether the nodes, silent ones included, could have the bundles of a group if all were free.
func (m *Machine) couldGroup(g *group) bool {
	var nodes []packing.Node
	var slots []*node
	for _, n := range m.slots {
		if n == nil || n.ledger == nil {
			continue
		}
		nodes, slots = append(nodes, packing.Node{Ledger: n.ledger, Here: g.on(n.id)}), append(slots, n)
	}
	missing, _ := m.missing(g, slots)
	return packing.Could(g.Strategy, missing, nodes)
}

// lacksLabels says in words which bundles ask for labels that no living node has.
func (m *Machine) lacksLabels(g *group) (list []string) {
	for i, asks := range g.Asks {
		if asks == "" || g.At[i] != 0 || slices.ContainsFunc(m.slots, func(n *node) bool { return n != nil && n.ledger != nil && g.Allows(i, n.id) }) {
			continue
		}
		list = append(list, fmt.Sprintf("bundle %d asks for a node with the labels %s, and no node that is alive has them", i, asks))
	}
	return list
}
