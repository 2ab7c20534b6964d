package place

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/packing"
)

// A group for which no nodes have room is sent to nodes all the same after a while, which then recall leases for its bundles: see recall.go. They are chosen as if
// nothing were taken of them but what other groups have. A node for which that is not so refuses, and the next time others are asked, if there are any.

// waitsForRecall notes that a group begins to wait.
func (m *Machine) waitsForRecall(g *group) {
	g.recallAt = max(g.recallAt, m.now+RecallAfter)
	m.recallsGroupsAt(g.recallAt)
}

// recallsGroupsAt has recallGroups look at the groups at a time.
func (m *Machine) recallsGroupsAt(at time.Duration) {
	if m.groupRecallAt == 0 || at < m.groupRecallAt {
		m.groupRecallAt = at
	}
}

// recallGroups asks nodes to recall leases for the groups that have waited for long enough.
func (m *Machine) recallGroups() {
	if m.groupRecallAt == 0 || m.now < m.groupRecallAt {
		return
	}
	m.groupRecallAt = 0
	for _, g := range append([]*group(nil), m.waitingGroups...) {
		if g.recallAt <= m.now {
			g.recallAt = m.now + min(recallPause<<min(g.recalls, 10), recallPauseMost)
			g.recalls++
			if m.recallForGroup(g) {
				continue
			}
		}
		m.recallsGroupsAt(g.recallAt)
	}
	if m.groupRecallAt > 0 { // many groups are looked at together
		m.groupRecallAt = max(m.groupRecallAt, m.now+RecallAfter)
	}
}

// recallForGroup asks nodes to recall leases for a group. It reports false if no nodes can be asked.
func (m *Machine) recallForGroup(g *group) bool {
	all, slots := m.packingNodes(g)
	var nodes []packing.Node
	var asked []*node
	for i, n := range slots {
		if !g.refused[n.id] {
			all[i].Ledger = n.ledger.Emptied()
			nodes, asked = append(nodes, all[i]), append(asked, n)
		}
	}
	missing, _ := m.missing(g, asked)
	to, ok := packing.Choose(g.Strategy, missing, nodes)
	if !ok {
		clear(g.refused)
		return false
	}
	m.askAll(g, nodes, asked, to, false)
	return true
}
