package inquiry

import (
	"context"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Nodes returns the nodes of the cluster as rows, without what is free on them.
func Nodes(ctx context.Context, h Reads) ([]wire.NodeInfo, error) {
	found, err := h.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var rows []wire.NodeInfo
	for _, n := range found {
		row := wire.NodeInfo{
			NodeID: n.ID[:], Number: n.Number, Alive: n.State == record.NodeAlive, Name: n.Name, Address: n.Address, Hostname: n.Hostname,
			SessionDir: n.SessionDir, Pid: n.Pid, Resources: n.Resources, Labels: n.Labels, IsHead: n.IsHead, Unreachable: n.Unreachable, Reason: n.Reason,
			StartedMs: n.StartedMs, EndedMs: n.EndedMs,
		}
		if n.Drain != nil {
			row.DrainReason, row.DrainMessage, row.DrainDeadlineMs = string(n.Drain.Reason), n.Drain.Message, n.Drain.DeadlineMs
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// The states of actors as Ray calls them.
var actorStates = map[record.ActorState]string{
	record.ActorPending: "PENDING_CREATION", record.ActorAlive: "ALIVE", record.ActorRestarting: "RESTARTING", record.ActorDead: "DEAD",
}

// Actors returns all actors as the rows of a census.
func Actors(ctx context.Context, h Reads) ([]wire.ActorRow, error) {
	found, err := h.ActorsOf(ctx, record.ActorFilter{})
	if err != nil {
		return nil, err
	}
	var rows []wire.ActorRow
	for _, a := range found {
		r := wire.ActorRow{
			ActorID: a.ID[:], JobID: a.Job[:], ClassName: a.ClassName, Name: a.Name, Namespace: a.Namespace, State: actorStates[a.State], Pid: a.Pid,
			Detached: a.Detached, Restarts: a.NumRestarts, Preempted: a.Preempted, Resources: a.Resources, Reason: string(a.Cause.Reason), Message: a.Cause.Message,
			StartedMs: a.StartedMs, EndedMs: a.EndedMs, Strategy: a.Strategy,
		}
		if a.Node != (ids.Node{}) {
			r.NodeID, r.WorkerID = a.Node[:], a.Worker[:]
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// GroupRows returns all placement groups as the rows of a census.
func GroupRows(ctx context.Context, h Reads) ([]wire.GroupRow, error) {
	found, err := h.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var rows []wire.GroupRow
	for i := range found {
		g := &found[i]
		r := wire.GroupRow{
			GroupID: g.ID[:], JobID: g.Job[:], Name: g.Name, Strategy: g.Strategy, State: string(g.State), Detached: g.Detached,
			Nodes: make([]string, len(g.Bundles)), CreatedMs: g.CreatedMs, PlacedMs: g.PlacedMs,
		}
		for j := range g.Bundles {
			r.Bundles = append(r.Bundles, wire.GroupBundle{Resources: g.Bundles[j].Resources, Labels: g.Bundles[j].Labels})
			if n := g.NodeOf(j); n != (ids.Node{}) {
				r.Nodes[j] = n.String()
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// Jobs returns all jobs as the rows of a census. Correct may change a record before it becomes a
// row.
func Jobs(ctx context.Context, h Reads, correct func(*record.Job)) ([]wire.JobRow, error) {
	found, err := h.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var rows []wire.JobRow
	for _, j := range found {
		correct(&j)
		rows = append(rows, wire.JobRow{
			JobID: j.ID[:], NodeID: j.Node[:], State: string(j.State), Entrypoint: j.Entrypoint, Namespace: j.Namespace, Message: j.Message, Pid: j.DriverPid,
			StartedMs: j.StartedMs, EndedMs: j.EndedMs,
		})
	}
	return rows, nil
}
