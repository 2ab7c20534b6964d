package sched

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// Classes may run in a placement group. What they need then has the names that bundles have (package resource), which no node has before the group is
// created, so such a class waits, and is not called infeasible. Whoever has the machine follows the group (FollowGroup) and says when it is of no use.

// groupRow is what is known of a placement group in which classes run.
type groupRow struct {
	code fault.Code // with which all that waits for it fails; "": it can be waited for
	why  string
}

// failInGroup fails a class of a group that cannot be waited for. It reports false for a class of no group.
func (m *Machine) failInGroup(d *demand) bool {
	s := d.class.Strategy
	if s.Kind != strategy.Group {
		return false
	}
	if d.client.guest { // its own node says what is to be said
		return true
	}
	row := m.groups[s.Group]
	if row == nil {
		m.groups[s.Group] = &groupRow{}
		m.emit(FollowGroup{s.Group})
		return true
	}
	if row.code != "" {
		m.failAs(d, row.code, row.why)
	} else {
		m.failOutsideBundles(d)
	}
	return true
}

// GroupWaits says that a group can be waited for, or is created.
func (m *Machine) GroupWaits(id ids.Group) {
	row := m.groups[id]
	if row == nil {
		return
	}
	failed := row.code != ""
	row.code, row.why = "", ""
	if m.failWhatFitsNoBundle(id) || failed { // else nothing is decided otherwise than before; there may be many groups
		m.reschedule()
	}
}

// GroupFails says that nothing runs in a group: it has no nodes and will have none (PlacementGroupUnschedulable), which GroupWaits takes back, or it was removed
// (PlacementGroupRemoved) and is followed no more. The classes that wait for it fail.
func (m *Machine) GroupFails(id ids.Group, code fault.Code, why string) {
	row := m.groups[id]
	if row == nil {
		return
	}
	row.code, row.why = code, why
	for _, d := range slices.Clone(m.waiting) {
		if !d.isActor() && !d.client.guest && d.class.Strategy.Kind == strategy.Group && d.class.Strategy.Group == id {
			m.failAs(d, code, why)
		}
	}
	if code == fault.PlacementGroupRemoved {
		delete(m.groups, id)
	}
	m.reschedule()
}

// failWhatFitsNoBundle fails what waits and no bundle of a group can have, on a node that has all bundles. It reports whether there was any.
func (m *Machine) failWhatFitsNoBundle(id ids.Group) (failed bool) {
	if m.o.Cluster {
		return false
	}
	group := id.String()
	for _, d := range slices.Clone(m.waiting) {
		if d.class.Strategy.Kind == strategy.Group && d.class.Strategy.Group != id {
			continue
		}
		if _, in, asks := resource.Outside(d.class.Need); asks && in.Group == group {
			failed = m.failOutsideBundles(d) || failed
		}
	}
	return failed
}

// failOutsideBundles fails a class that no bundle of its group can have, or the actors of a shape. It does so on a node that has all bundles, and when they are open.
func (m *Machine) failOutsideBundles(d *demand) (failed bool) {
	if m.o.Cluster {
		return false
	}
	why := m.whyInfeasible(d, d.class.Name)
	switch {
	case why == "":
		return false
	case d.isActor():
		for _, a := range d.queue {
			m.emit(ActorFailed{a.id, fault.ActorUnschedulable, why, false})
		}
	default:
		m.fail(d, why)
	}
	return true
}

// freeFor returns what is free, as far as these needs can be compared with it. A node may have very many bundles, so of their names only those are there that one
// of the needs has.
func (m *Machine) freeFor(needs ...resource.Set) resource.Set {
	free := m.ledger.PlainFree()
	for _, need := range needs {
		if resource.AsksBundle(need) {
			for name := range need {
				free[name] = m.ledger.FreeOf(name)
			}
		}
	}
	return free
}

// freeForAll is freeFor the choices of several demands.
func (m *Machine) freeForAll(list ...*demand) resource.Set {
	var needs []resource.Set
	for _, d := range list {
		for _, c := range d.choices {
			needs = append(needs, c.Need)
		}
	}
	return m.freeFor(needs...)
}

// awaitsGroup reports whether a need asks for a bundle that this node does not have, or not yet.
func (m *Machine) awaitsGroup(need resource.Set) bool {
	_, id, asks := resource.Outside(need)
	return asks && !m.ledger.HasOpen(id)
}
