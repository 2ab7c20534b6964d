package alive

import (
	"slices"
	"time"
)

// listen counts the time that has passed as listened to, as far as it was.
func (h *Heads) listen(now time.Duration) {
	gap := max(0, now-h.now)
	h.now += gap
	h.listened += min(gap, longestGap)
	for _, m := range h.members {
		switch {
		case m.fresh: // it came some time before now, and counting from now on is the safe side
			m.since, m.fresh = h.listened, false
		case gap > longestGap && !m.dead: // a pause: what came meanwhile is still to be read
			m.since = max(m.since, h.listened-h.t.Dead+afterPause)
		}
	}
}

// judge says who is silent for too long.
func (h *Heads) judge() {
	limit := h.limit()
	h.members = slices.DeleteFunc(h.members, func(m *member) bool {
		silence := h.listened - m.since
		if !m.dead && !m.unreachable && silence >= h.t.Unreachable {
			m.unreachable = true
			h.do(Action{Kind: Unreachable, Node: m.number})
		}
		if !m.dead && silence >= limit {
			m.dead, h.died[m.number] = true, true
			h.do(Action{Kind: Dead, Node: m.number, Why: Silent})
		}
		over := m.dead && silence >= h.t.Fence
		if over {
			h.do(Action{Kind: MayRestart, Node: m.number})
		}
		return over
	})
}

// limit returns after how much silence a node is dead. When many nodes fall silent at once, the network between them and the
// head is more likely to be broken than each of them.
func (h *Heads) limit() time.Duration {
	silent, living := 0, 0
	for _, m := range h.members {
		if m.dead {
			continue
		}
		living++
		if h.listened-m.since >= h.t.Unreachable {
			silent++
		}
	}
	if silent >= leastMany && 4*silent > living {
		return h.t.Many
	}
	return h.t.Dead
}
