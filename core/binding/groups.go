package binding

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// groupBundle is a bundle of a placement group as Python sends it. Amounts are in units of 1/10000.
type groupBundle struct {
	Resources map[string]int64  `msgpack:"res"`
	Labels    map[string]string `msgpack:"labels"`
}

func createGroup(k *caller, a *args) (any, error) {
	id := ids.NewGroup(k.c.Info().Job)
	q := wire.GroupCreate{GroupID: id[:], Name: a.Name, Namespace: a.Space, Strategy: a.Strategy, Detached: a.Detached, Waits: a.Waits}
	for _, b := range a.Bundles {
		q.Bundles = append(q.Bundles, wire.GroupBundle{Resources: b.Resources, Labels: b.Labels})
	}
	return map[string]any{"group_id": id[:]}, k.call(wire.TGroupCreate, q, nil)
}

func removeGroup(k *caller, a *args) (any, error) {
	return nil, k.call(wire.TGroupRemove, wire.GroupRef{GroupID: a.GroupID}, nil)
}

func findGroup(k *caller, a *args) (any, error) {
	var g *record.Group
	err := k.call(wire.TGroupFind, wire.GroupFind{GroupID: a.GroupID, Namespace: k.space(a), Name: a.Name}, &g)
	if err != nil || g == nil {
		return nil, err
	}
	return groupMap(g), nil
}

func listGroups(k *caller, _ *args) (any, error) {
	var list []record.Group
	err := k.call(wire.TGroups, nil, &list)
	all := make([]map[string]any, len(list))
	for i := range list {
		all[i] = groupMap(&list[i])
	}
	return all, err
}

// answerTime is how much longer than the wait the call for it may take.
const answerTime = time.Minute

func awaitGroup(k *caller, a *args) (any, error) {
	var s wire.GroupState
	wait := *k
	if wait.timeout = -1; a.TimeoutMs >= 0 {
		wait.timeout = time.Duration(a.TimeoutMs)*time.Millisecond + answerTime
	}
	err := wait.call(wire.TGroupWait, wire.GroupWait{GroupID: a.GroupID, Seen: a.Seen, TimeoutMs: a.TimeoutMs}, &s)
	return map[string]any{"state": s.State, "message": s.Message}, err
}

func groupMap(g *record.Group) map[string]any {
	bundles, nodes := make([]map[string]any, len(g.Bundles)), make([]string, len(g.Bundles))
	for i := range g.Bundles {
		bundles[i] = map[string]any{"res": g.Bundles[i].Resources, "labels": g.Bundles[i].Labels}
		if n := g.NodeOf(i); n != (ids.Node{}) {
			nodes[i] = n.String()
		}
	}
	actor := g.Actor[:]
	if g.Actor == (ids.Actor{}) {
		actor = nil
	}
	return map[string]any{
		"group_id": g.ID[:], "name": g.Name, "namespace": g.Namespace, "strategy": g.Strategy, "state": string(g.State), "detached": g.Detached, "job_id": g.Job[:],
		"owner": g.Owner[:], "actor_id": actor, "bundles": bundles, "nodes": nodes, "created_ms": g.CreatedMs, "placed_ms": g.PlacedMs, "ended_ms": g.EndedMs, "why": g.Why,
		"infeasible": g.Infeasible,
	}
}
