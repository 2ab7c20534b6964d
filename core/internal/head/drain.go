package head

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// DrainNode has a node get no new work, and leave the cluster when it is idle or when the time left has passed; 0: there is no such time. It returns
// why that is refused, "" if it is not. A node that is dead, or that nobody knows, is drained already. A node that is drained because it is idle may not
// have anything to do; of that the head knows of actors and drivers, and the caller of the rest.
func (h *Head) DrainNode(ctx context.Context, id ids.Node, d record.Drain, left time.Duration) (refused string, err error) {
	d.AtMs, d.DeadlineMs = h.nowMs(), 0
	if left > 0 {
		d.DeadlineMs = d.AtMs + left.Milliseconds()
	}
	if err := d.Check(); err != nil {
		return "", fmt.Errorf("drain node %s: %w: %w", id, record.ErrInvalid, err)
	}
	n, known := h.state.Node(id)
	switch {
	case !known || n.State == record.NodeDead:
		return "", nil
	case n.IsHead:
		return fmt.Sprintf("a head of the cluster runs on the machine of node %s, so the node stays. End it with `eagleray stop` there", id), nil
	}
	if d.Reason == record.DrainIdle {
		if refused := h.worksAt(&n); refused != "" {
			return refused, nil
		}
	}
	if err := h.state.DrainNode(ctx, id, d); !errors.Is(err, record.ErrNotFound) {
		return "", err
	}
	return "", nil
}

// worksAt says in words what a node does as far as the cluster's state has it, "" if that is nothing.
func (h *Head) worksAt(n *record.Node) string {
	if live := h.state.ActorsOf(record.ActorFilter{Node: n.ID, Live: true}); len(live) > 0 {
		return fmt.Sprintf("the node is not idle: it has %d actors", len(live))
	}
	for _, j := range h.state.ListJobs() {
		if j.Node == n.ID && !j.Over() {
			return fmt.Sprintf("the node is not idle: the program of job %s runs there", j.ID)
		}
	}
	for _, g := range h.state.ListGroups() {
		if g.Live() && slices.Contains(g.Nodes, n.ID) {
			return fmt.Sprintf("the node is not idle: it has bundles of placement group %s", g.ID)
		}
	}
	return ""
}
