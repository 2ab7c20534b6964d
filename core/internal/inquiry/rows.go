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
		rows = append(rows, wire.NodeInfo{
			NodeID: n.ID[:], Alive: n.State == record.NodeAlive, Name: n.Name, Address: n.Address, Hostname: n.Hostname,
			SessionDir: n.SessionDir, Pid: n.Pid, Resources: n.Resources, Labels: n.Labels, IsHead: n.IsHead, Unreachable: n.Unreachable, Reason: n.Reason,
		})
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
			Detached: a.Detached, Restarts: a.NumRestarts, Resources: a.Resources, Reason: string(a.Cause.Reason), Message: a.Cause.Message,
			StartedMs: a.StartedMs, EndedMs: a.EndedMs,
		}
		if a.Node != (ids.Node{}) {
			r.NodeID, r.WorkerID = a.Node[:], a.Worker[:]
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
			JobID: j.ID[:], State: string(j.State), Entrypoint: j.Entrypoint, Namespace: j.Namespace, Message: j.Message, Pid: j.DriverPid,
			StartedMs: j.StartedMs, EndedMs: j.EndedMs,
		})
	}
	return rows, nil
}
