package sched

import (
	"fmt"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// whyInfeasible explains why an idle node could not serve d, "" when it could.
func (m *Machine) whyInfeasible(d *demand, name string) string {
	if m.awaitsGroup(d.class.Need) {
		return ""
	}
	if asked := m.lacksLabels(d); asked != "" {
		kind := "task"
		if d.isActor() {
			kind = "actor"
		}
		return fmt.Sprintf("%s %s asks for %s, and the only node of this session does not have them. Give them to it with init(labels={…}), ask for other labels, start a cluster with nodes that have them (eagleray start --labels=…), or wait for a larger cluster with init(infeasible=\"wait\").", kind, name, asked)
	}
	why, ok := m.ledger.CanEver(d.class.Need)
	rest, possible := m.whyAlternativesInfeasible(d)
	if ok || possible {
		return ""
	}
	kind, change := "task", "the remote function's resources"
	if d.isActor() {
		kind, change = "actor", "the actor's resources"
	}
	if inside, id, asks := outside(d.class.Need); asks {
		return fmt.Sprintf("%s %s needs %s in %s, which can never give it (%s)%s. Lower %s, or make a placement group with larger bundles.", kind, name, inside, id, why, rest, change)
	}
	totals := m.ledger.Totals()
	return fmt.Sprintf("%s %s needs %s but the cluster has at most %s (%s)%s. Lower %s, declare more in init(num_cpus=…, num_gpus=…, resources={…}), or wait for a larger cluster with init(infeasible=\"wait\").",
		kind, name, d.class.Need, readable(totals, d.class.Need), why, rest, change)
}

// outside is resource.Outside for texts: without the marker of bundles.
func outside(need resource.Set) (inside resource.Set, id resource.BundleID, asks bool) {
	inside, id, asks = resource.Outside(need)
	if asks {
		delete(inside, resource.Marker)
	}
	return inside, id, asks
}

// readable leaves out the totals that say nothing about the need: byte counts
// and the node's own names.
func readable(totals, need resource.Set) resource.Set {
	s := totals.Clone()
	for name := range s {
		if _, asked := need[name]; !asked && (name == "memory" || name == "object_store_memory" || name == resource.GPUMemory || strings.HasPrefix(name, "node:")) {
			delete(s, name)
		}
	}
	return s
}

// Explain says in words what a client's class waits for, "" when it does not wait.
func (m *Machine) Explain(id ClientID, class ClassID) string {
	c := m.clients[id]
	if c == nil || c.classes[class] == nil {
		return ""
	}
	return m.explain(c.classes[class])
}

// ExplainActor says what a waiting actor waits for, "" when it does not wait.
func (m *Machine) ExplainActor(id ActorID) string {
	if d := m.actors[id]; d != nil {
		return m.explain(d)
	}
	return ""
}

func (m *Machine) explain(d *demand) string {
	p := d.pool
	switch {
	case d.want == 0:
		return ""
	case len(d.reserved) > 0 && p.failures > 0:
		return fmt.Sprintf("its resources are reserved, but starting a worker failed %d times; trying again", p.failures)
	case len(d.reserved) > 0 && p.starting > 0:
		return fmt.Sprintf("its resources are reserved; a worker is being started (%d starting)", p.starting)
	case len(d.reserved) > 0:
		return fmt.Sprintf("its resources are reserved; it waits for its turn to start a worker (%d of other environments are being started)", m.starting)
	}
	if asked := m.lacksLabels(d); asked != "" {
		if m.o.Cluster {
			return fmt.Sprintf("it needs %s on %s, and no node with them has room for it", d.class.Need, asked)
		}
		return fmt.Sprintf("it asks for %s, which this node does not have", asked)
	}
	if len(d.choices) > 1 {
		return m.explainChoices(d)
	}
	if inside, id, asks := outside(d.class.Need); asks && m.awaitsGroup(d.class.Need) {
		return fmt.Sprintf("it needs %s in %s, which is not ready on this node", inside, id)
	}
	if m.o.Cluster && !d.isActor() && m.namesOther(d) {
		return fmt.Sprintf("it needs %s on node %s, which has no room for it", d.class.Need, d.class.Strategy.Node)
	}
	if m.o.Cluster && !m.couldServe(d) && !d.isActor() {
		return fmt.Sprintf("it needs %s, which this node does not have, and no other node has room for it", d.class.Need)
	}
	if why, ok := m.ledger.CanEver(d.class.Need); !ok {
		return fmt.Sprintf("it needs %s, which the cluster does not have: %s", d.class.Need, why)
	}
	return m.explainNeed(d, d.class.Need)
}

// explainNeed says why a need that an idle node could meet is not met now.
func (m *Machine) explainNeed(d *demand, need resource.Set) string {
	free := m.ledger.Free()
	var short []string
	for _, name := range sortedNames(need) {
		if n := need[name]; n > 0 && free[name] < n {
			short = append(short, fmt.Sprintf("%s: asked %s, free %s of %s (%s)", name,
				resource.Text(name, n), resource.Text(name, max(free[name], 0)), resource.Text(name, m.ledger.Totals()[name]), m.holders(name)))
		}
	}
	if len(short) == 0 && isCPULess(d, need) && m.cpuLess >= MaxCPULess {
		return fmt.Sprintf("%d tasks that need next to no CPU run already", m.cpuLess)
	}
	if len(short) == 0 && m.takesFromClaim(d, need) {
		return fmt.Sprintf("what it needs is kept for a moment for %s, which needs %s and has waited for longer", m.claim.class.Name, m.claim.class.Need)
	}
	if n := need[resource.GPUMemory]; len(short) == 0 && n > 0 {
		return fmt.Sprintf("it needs %s, and no single device has %s of memory free", need, resource.Text(resource.GPUMemory, n))
	}
	if len(short) == 0 {
		return fmt.Sprintf("it needs %s in whole devices, and no device is free enough", need)
	}
	return "it waits for " + strings.Join(short, "; ")
}

// holders counts who holds a resource: "held by 2 running tasks and 1 actor".
func (m *Machine) holders(name string) string {
	tasks, actors, ending, placing := 0, 0, 0, 0
	for _, w := range m.workers {
		if w.hold == nil || w.hold.Frees()[name] == 0 || name == resource.CPU && w.blocked {
			continue
		}
		switch w.state {
		case workerActor:
			actors++
		case workerEnding:
			ending++
		default:
			tasks++
		}
	}
	for _, p := range m.pools {
		for _, r := range p.queue {
			if r.hold.Frees()[name] > 0 || r.extra != nil && r.extra.Frees()[name] > 0 {
				placing++
			}
		}
	}
	var parts []string
	for _, c := range []struct {
		n         int
		one, many string
	}{
		{tasks, "leased worker", "leased workers"},
		{actors, "actor", "actors"},
		{ending, "worker that is ending", "workers that are ending"},
		{placing, "worker being started", "workers being started"},
	} {
		if c.n == 1 {
			parts = append(parts, "1 "+c.one)
		} else if c.n > 1 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.many))
		}
	}
	if len(parts) == 0 {
		return "held by nobody"
	}
	return "held by " + strings.Join(parts, ", ")
}

// explainChoices says in words what d waits for; d has alternatives.
func (m *Machine) explainChoices(d *demand) string {
	var parts []string
	for i, c := range m.openChoices(d) {
		text, ok := m.ledger.CanEver(c.Need)
		if ok {
			text = m.explainNeed(d, c.Need)
		} else {
			text = fmt.Sprintf("it needs %s, which the cluster does not have: %s", c.Need, text)
		}
		if i > 0 {
			text = fmt.Sprintf("for alternative %d %s", i, text)
		}
		parts = append(parts, text)
	}
	if at, later := m.alternativesFrom(d); later && at > m.now {
		parts = append(parts, fmt.Sprintf("its fallback is tried in %s", (at-m.now).Round(10*time.Millisecond)))
	}
	return strings.Join(parts, "; ")
}

// whyAlternativesInfeasible reports whether an idle node could serve an alternative of d. If
// d has alternatives and the node could serve none of them, text says why.
func (m *Machine) whyAlternativesInfeasible(d *demand) (text string, possible bool) {
	var why []string
	for _, c := range d.choices[1:] {
		reason, ok := m.ledger.CanEver(c.Need)
		if ok {
			return "", true
		}
		why = append(why, fmt.Sprintf("%s (%s)", c.Need, reason))
	}
	if len(why) == 0 {
		return "", false
	}
	return "; of its fallback nothing fits either: " + strings.Join(why, ", "), false
}
