package raftstate

import (
	"errors"
	"math"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

func (m *Machine) putNode(n *record.Node) {
	m.nodes[n.ID] = n
	m.emit(record.Event{Kind: record.NodeEvent, Node: n})
}

func (b *RegisterNode) kind() Kind      { return KindRegisterNode }
func (b *RegisterNode) subject() string { return "node " + b.Node.ID.String() }
func (b *RegisterNode) check() error {
	if b.Node.ID == (ids.Node{}) {
		return errors.New("the node has no id")
	}
	return nil
}

func (b *RegisterNode) apply(m *Machine) Result {
	n := b.Node
	n.Ordinal, n.Drain = m.index, nil
	if old := m.nodes[n.ID]; old != nil {
		if old.State == record.NodeDead {
			return Result{Outcome: NodeGone}
		}
		n.Ordinal, n.Drain = old.Ordinal, old.Drain
	}
	n.State, n.Reason, n.EndedMs, n.Unreachable, n.Gone, n.Wire = record.NodeAlive, "", 0, false, false, 0
	m.putNode(&n)
	return Result{}
}

func (b *NodeDrain) kind() Kind      { return KindNodeDrain }
func (b *NodeDrain) subject() string { return "drain of node " + b.ID.String() }
func (b *NodeDrain) check() error    { return b.Drain.Check() }

func (b *NodeDrain) apply(m *Machine) Result {
	old := m.nodes[b.ID]
	switch {
	case old == nil:
		return Result{Outcome: NotFound}
	case old.State == record.NodeDead:
		return Result{}
	}
	n, d := *old, b.Drain
	n.Drain = &d
	m.putNode(&n)
	return Result{}
}

func (b *NodeNumber) kind() Kind      { return KindNodeNumber }
func (b *NodeNumber) subject() string { return "number of node " + b.ID.String() }
func (b *NodeNumber) check() error {
	if b.ID == (ids.Node{}) {
		return errors.New("the node has no id")
	}
	return nil
}

func (b *NodeNumber) apply(m *Machine) Result {
	if m.lastNode == math.MaxUint32 { // it would begin again, and numbers are not used twice
		return Result{Outcome: Invalid}
	}
	m.lastNode++
	return Result{Number: m.lastNode}
}

func (b *NodeDead) kind() Kind      { return KindNodeDead }
func (b *NodeDead) subject() string { return "node " + b.ID.String() }
func (b *NodeDead) check() error    { return nil }

func (b *NodeDead) apply(m *Machine) Result {
	old := m.nodes[b.ID]
	switch {
	case old == nil:
		return Result{Outcome: NotFound}
	case old.State == record.NodeDead:
		if b.Gone && !old.Gone { // the proof comes later than the judgement
			n := *old
			n.Gone = true
			m.putNode(&n)
		}
		return Result{}
	}
	n := *old
	n.State, n.Reason, n.EndedMs, n.Gone = record.NodeDead, b.Reason, b.AtMs, b.Gone
	if n.Drain != nil && b.Reason != "" {
		n.Reason = n.Drain.String() + " (" + b.Reason + ")"
	}
	m.putNode(&n)
	m.classes.DropFrom(n.ID)
	m.groupsLoseNode(n.ID)
	var gone ids.Node
	var full bool
	if m.deadNodes, gone, full = appendBounded(m.deadNodes, n.ID, keptDeadNodes); full {
		delete(m.nodes, gone)
	}
	return Result{}
}
