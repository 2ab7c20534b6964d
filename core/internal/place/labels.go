package place

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/labels"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// A want or an actor may ask for labels of its node, in several alternatives (labels.Preferences). Only nodes that one of them allows are chosen, and among those with room
// the ones of the first alternative. Until the labels of a node are known it is not chosen, and nothing is infeasible that it might run.

// ranks are what a want or an actor asks of labels, with what is known of the nodes.
type ranks struct {
	list     labels.Preferences
	bySlot   []int8 // the nodes' ranks; notAllowed; or unknown, which is not looked at yet
	labelled uint64
}

const (
	notAllowed = -1
	unknown    = -2
)

// ranksOf returns nil for a strategy without labels.
func ranksOf(s strategy.Strategy) *ranks {
	if s.Labels == "" {
		return nil
	}
	return &ranks{list: s.Wishes()}
}

// rank is the place of a node among those that are allowed, 0 for the best, notAllowed for one that is not, or whose labels are not known.
func (m *Machine) rank(r *ranks, n *node) int {
	if n.labels == nil {
		return notAllowed
	}
	if r.labelled != m.labelled || len(r.bySlot) < len(m.slots) {
		r.labelled, r.bySlot = m.labelled, make([]int8, len(m.slots))
		for i := range r.bySlot {
			r.bySlot[i] = unknown
		}
	}
	known := &r.bySlot[n.slot]
	if *known == unknown {
		rank, ok := r.list.Rank(n.labels)
		if *known = int8(rank); !ok { // at most labels.MaxAlternatives
			*known = notAllowed
		}
	}
	return int(*known)
}

// allows reports whether a node has labels that are asked for.
func (m *Machine) allows(r *ranks, n *node) bool { return r == nil || m.rank(r, n) >= 0 }

// mayAllow reports whether a node has labels that are asked for, as far as its labels are known.
func (m *Machine) mayAllow(r *ranks, n *node) bool {
	return r == nil || n.labels == nil || m.rank(r, n) >= 0
}

// onWrongNodes reports whether the bundles of a placement group that could give one of the needs are known, and are on nodes that are not allowed.
func (m *Machine) onWrongNodes(r *ranks, needs []*need) bool {
	if r == nil {
		return false
	}
	some := false
	for _, n := range m.slots {
		if n == nil || n.ledger == nil || !slices.ContainsFunc(needs, func(d *need) bool { return n.ledger.Could(d.set) }) {
			continue
		}
		if m.mayAllow(r, n) {
			return false
		}
		some = true
	}
	return some
}

// whyNoLabels says in words why no node can serve a task or an actor that asks for labels.
func (m *Machine) whyNoLabels(who string, s strategy.Strategy, r *ranks, needs []*need) string {
	const change = " Ask for other labels or less, or add a node that has them (eagleray start --address=… --labels=…)."
	if s.Kind == strategy.Group {
		return fmt.Sprintf("%s asks for a node with the labels %s, and the bundles of its placement group are on nodes without them. Ask for other labels, or make the group with bundle_label_selector.", who, r.list)
	}
	some := false
	for _, n := range m.slots {
		some = some || n != nil && n.ledger != nil && m.mayAllow(r, n)
	}
	if !some {
		return fmt.Sprintf("%s asks for a node with the labels %s, and no node that is alive has them.%s", who, r.list, change)
	}
	texts := make([]string, len(needs))
	for i, d := range needs {
		texts[i] = d.set.String()
	}
	return fmt.Sprintf("%s asks for a node with the labels %s, and of the nodes that are alive and have them none can ever give %s.%s", who, r.list, strings.Join(texts, " or "), change)
}
