package groups

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/labels"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/record"
)

// Reports is what a head wants to hear of bundles. Its methods do not wait.
type Reports interface {
	GroupPrepared(id ids.Group, epoch uint64, nodes []ids.Node)
	GroupInfeasible(id ids.Group, message string)
}

// Local places the groups of a head that has one node only: all bundles are on it. Event and Head are set before the head asks for anything.
type Local struct {
	Node   ids.Node
	Labels map[string]string // of the node
	Event  func(func(*sched.Machine))
	Head   Reports
}

// PlaceGroup has the node set all bundles of a group aside.
func (l *Local) PlaceGroup(g record.Group) {
	s, err := packing.Parse(g.Strategy)
	if err != nil {
		l.Head.GroupInfeasible(g.ID, err.Error())
		return
	}
	b := sched.Bundles{Group: g.ID, Name: g.String(), Epoch: g.Epoch}
	for i := range g.Bundles {
		b.Index, b.Needs = append(b.Index, i), append(b.Needs, resource.FromWire(g.Bundles[i].Resources))
	}
	why := l.lacksLabels(&g)
	if why != "" { // the labels of a node do not change
		l.Head.GroupInfeasible(g.ID, why)
		return
	}
	l.Event(func(m *sched.Machine) {
		if why = m.WhyNoBundles(s, b); why == "" || g.Waits {
			m.PrepareBundles(g.Job, b)
		}
	})
	if why != "" && !g.Waits {
		l.Head.GroupInfeasible(g.ID, why)
	}
}

// lacksLabels says in words which bundles ask for labels that the node does not have; "": none does.
func (l *Local) lacksLabels(g *record.Group) string {
	for i := range g.Bundles {
		s, err := labels.Parse(g.Bundles[i].Labels)
		if err != nil {
			return fmt.Sprintf("%s: bundle %d: %v", g, i, err)
		}
		if !s.Matches(labels.WithID(l.Labels, l.Node)) {
			return fmt.Sprintf("%s can never be placed: bundle %d asks for a node with the labels %s, and the only node of this session does not have them. Give them to it with init(labels={…}), or start a cluster with nodes that have them (eagleray start --labels=…).", g, i, s)
		}
	}
	return ""
}

// RetryGroup is not called: the only node does not die before its head.
func (l *Local) RetryGroup(ids.Group, uint64) {}

// OpenGroup has the node give the bundles to work.
func (l *Local) OpenGroup(g record.Group) {
	l.Event(func(m *sched.Machine) { m.CommitBundles(g.ID, g.Epoch) })
}

// DropGroup has the node drop the bundles.
func (l *Local) DropGroup(g record.Group) {
	l.Event(func(m *sched.Machine) { m.DropBundles(g.ID) })
}

// BundlesPrepared implements Answers. An order without a limit of time is never refused.
func (l *Local) BundlesPrepared(a sched.BundlesPrepared, _ resource.Stock) {
	if a.OK {
		l.Head.GroupPrepared(a.Group, a.Epoch, slices.Repeat([]ids.Node{l.Node}, a.N))
	}
}
