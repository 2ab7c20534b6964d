package binding

import (
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// RPC is a control call of the Python package: a method's name and a msgpack map.
func RPC(c *client.Client, method string, body []byte, timeout time.Duration) ([]byte, error) {
	f := methods[method]
	if f == nil {
		return nil, fault.New(fault.BadRequest, "rpc %q does not exist", method)
	}
	var in args
	if len(body) > 0 {
		if err := msgpack.Unmarshal(body, &in); err != nil {
			return nil, fault.New(fault.BadRequest, "rpc %s: %v", method, err)
		}
	}
	v, err := f(&caller{c, timeout, body}, &in)
	if err != nil {
		return nil, err
	}
	return msgpack.Marshal(v)
}

type args struct {
	Namespace string `msgpack:"ns"`
	Space     string `msgpack:"namespace"`
	Name      string `msgpack:"name"`
	Key       []byte `msgpack:"key"`
	Value     []byte `msgpack:"value"`
	Overwrite bool   `msgpack:"overwrite"`
	Prefix    bool   `msgpack:"prefix"`
	All       bool   `msgpack:"all"`
	ActorID   []byte `msgpack:"actor_id"`
	Limit     int    `msgpack:"limit"`
	TimeoutMs int64  `msgpack:"timeout_ms"`
	Objects   bool   `msgpack:"objects"`
	Tasks     bool   `msgpack:"tasks"`
	Collect   bool   `msgpack:"collect"`
	Here      bool   `msgpack:"here"`
	Use       bool   `msgpack:"use"`
	Head      bool   `msgpack:"head"`

	ObjectIDs [][]byte      `msgpack:"object_ids"`
	Token     uint64        `msgpack:"token"`
	Metrics   []wire.Metric `msgpack:"metrics"`

	// Of placement groups.
	GroupID  []byte        `msgpack:"group_id"`
	Strategy string        `msgpack:"strategy"`
	Detached bool          `msgpack:"detached"`
	Waits    bool          `msgpack:"waits"`
	Seen     string        `msgpack:"seen"`
	Bundles  []groupBundle `msgpack:"bundles"`
}

type caller struct {
	c       *client.Client
	timeout time.Duration
	body    []byte
}

func (k *caller) call(t wire.Type, req, reply any) error {
	ctx, cancel := deadline(k.timeout)
	defer cancel()
	err := k.c.Daemon().Call(ctx, t, req, reply)
	if err != nil {
		if why := k.c.Err(); why != nil {
			return why
		}
	}
	return err
}

var methods = map[string]func(*caller, *args) (any, error){
	"free":             freeObjects,
	"lose":             loseObjects,
	"object_gone":      notifyGone,
	"object_locations": locateObjects,
	"cluster_info": func(k *caller, a *args) (any, error) {
		var i wire.ClusterInfo
		err := k.call(wire.TClusterInfo, wire.ClusterAsk{Use: a.Use}, &i)
		return clusterMap(&i), err
	},
	"kv_put": func(k *caller, a *args) (any, error) {
		var added bool
		err := k.call(wire.TKVPut, wire.KVPut{Namespace: a.Namespace, Key: a.Key, Value: a.Value, Overwrite: a.Overwrite}, &added)
		return added, err
	},
	"kv_get": func(k *caller, a *args) (any, error) {
		var v []byte
		err := k.call(wire.TKVGet, wire.KVKey{Namespace: a.Namespace, Key: a.Key}, &v)
		if v == nil {
			return nil, err
		}
		return v, err
	},
	"kv_del": func(k *caller, a *args) (any, error) {
		var n int
		err := k.call(wire.TKVDel, wire.KVKey{Namespace: a.Namespace, Key: a.Key, Prefix: a.Prefix}, &n)
		return n, err
	},
	"kv_keys": func(k *caller, a *args) (any, error) {
		var v [][]byte
		err := k.call(wire.TKVKeys, wire.KVKey{Namespace: a.Namespace, Key: a.Key, Prefix: true}, &v)
		return v, err
	},
	"env_define": func(k *caller, _ *args) (any, error) {
		var e wire.EnvSpec
		if err := msgpack.Unmarshal(k.body, &e); err != nil {
			return nil, fault.New(fault.BadRequest, "env_define: %v", err)
		}
		if len(e.Packages) > 0 { // they are packed, and may be refused
			return nil, k.call(wire.TEnvDefine, e, nil)
		}
		return nil, k.c.Daemon().Push(wire.TEnvDefine, e)
	},
	"worker_ready": func(k *caller, _ *args) (any, error) { return nil, k.c.SayReady() },
	"actor_by_name": func(k *caller, a *args) (any, error) {
		var n wire.ActorNamed
		err := k.call(wire.TActorByName, wire.ActorByName{Name: a.Name, Namespace: k.space(a)}, &n)
		if fault.CodeOf(err) == fault.NotFound {
			return nil, nil
		}
		return map[string]any{"actor_id": n.ActorID, "meta": n.Meta}, err
	},
	"actor_names": func(k *caller, a *args) (any, error) {
		var l []wire.ActorName
		err := k.call(wire.TActorNames, wire.ActorNames{Namespace: k.space(a), All: a.All}, &l)
		out := make([]map[string]string, len(l))
		for i, n := range l {
			out[i] = map[string]string{"name": n.Name, "namespace": n.Namespace}
		}
		return out, err
	},
	"actor_state": func(k *caller, a *args) (any, error) {
		var s wire.ActorState
		err := k.call(wire.TActorResolve, wire.ActorResolve{ActorID: a.ActorID}, &s)
		return map[string]any{"state": s.State, "incarnation": s.Incarnation, "pid": s.Pid, "node_id": s.NodeID, "message": s.Message, "cause": s.Cause}, err
	},
	"actor_known": func(k *caller, a *args) (any, error) {
		if len(a.ActorID) != len(ids.Actor{}) {
			return nil, fault.New(fault.BadRequest, "actor_known: the id of an actor has %d bytes, not %d", len(ids.Actor{}), len(a.ActorID))
		}
		return k.c.ActorState(ids.Actor(a.ActorID)), nil
	},
	"obj_stats": func(k *caller, _ *args) (any, error) {
		var s wire.ObjStats
		err := k.call(wire.TObjStats, nil, &s)
		owned, borrowed := k.c.Holds()
		return map[string]any{
			"capacity": s.Capacity, "used": s.Used, "objects": s.Objects, "pinned": s.Pinned, "peak": s.PeakBytes,
			"owned": owned, "borrowed": borrowed, "spilling": s.More,
		}, err
	},
	"census": func(k *caller, a *args) (any, error) {
		var found wire.Census
		err := k.call(wire.TCensus, wire.CensusAsk{Limit: a.Limit, TimeoutMs: a.TimeoutMs, Objects: a.Objects, Tasks: a.Tasks, Head: a.Head}, &found)
		return &found, err
	},
	"metrics": func(k *caller, a *args) (any, error) {
		var taken wire.MetricsTaken
		err := k.call(wire.TMetrics, wire.MetricsReport{Metrics: a.Metrics}, &taken)
		return map[string]any{"off": taken.Off, "refused": taken.Refused, "why": taken.Why}, err
	},
	"footprint": func(k *caller, a *args) (any, error) {
		if a.Here {
			return k.c.Footprint(a.Collect), nil
		}
		var found map[string]uint64
		err := k.call(wire.TFootprint, wire.FootprintAsk{Collect: a.Collect}, &found)
		return found, err
	},
	"gpu_watch": func(k *caller, _ *args) (any, error) {
		var why string
		err := k.call(wire.TGPUWatch, nil, &why)
		return why, err
	},
	"gpu_used": func(k *caller, _ *args) (any, error) {
		var bytes int64
		err := k.call(wire.TGPUUsed, nil, &bytes)
		return bytes, err
	},
	"group_create":  createGroup,
	"group_remove":  removeGroup,
	"group_get":     findGroup,
	"group_by_name": findGroup,
	"groups":        listGroups,
	"group_wait":    awaitGroup,
	"job_info": func(k *caller, _ *args) (any, error) {
		i := k.c.Info()
		return map[string]any{"job_id": i.Job[:], "namespace": i.Namespace}, nil
	},
}

func (k *caller) space(a *args) string {
	if a.Space != "" {
		return a.Space
	}
	return k.c.Info().Namespace
}

func clusterMap(i *wire.ClusterInfo) map[string]any {
	nodes := make([]map[string]any, len(i.Nodes))
	for j, n := range i.Nodes {
		nodes[j] = map[string]any{"node_id": n.NodeID, "number": n.Number, "alive": n.Alive, "name": n.Name, "address": n.Address, "hostname": n.Hostname, "session_dir": n.SessionDir,
			"pid": n.Pid, "resources": n.Resources, "available": n.Available, "labels": n.Labels, "is_head": n.IsHead, "unreachable": n.Unreachable, "reason": n.Reason}
		if n.DrainReason != "" {
			nodes[j]["drain"] = map[string]any{"reason": n.DrainReason, "message": n.DrainMessage, "deadline_ms": n.DrainDeadlineMs}
		}
	}
	demands := make([]map[string]any, len(i.Demands))
	for j, d := range i.Demands {
		demands[j] = map[string]any{"name": d.Name, "resources": d.Resources, "count": d.Count}
	}
	uses := []map[string]any{}
	for _, n := range i.Uses() {
		for _, u := range n.GPUUses {
			uses = append(uses, map[string]any{"node_id": n.NodeID, "pid": u.Pid, "name": u.Name, "device": u.Device, "used": u.Bytes, "gpu_memory": u.Share})
		}
	}
	return map[string]any{"gpu_uses": uses, "nodes": nodes, "demands": demands, "available": i.ClusterAvailable(), "jobs": i.Jobs, "workers": i.Workers, "actors": i.Actors, "pending": i.Pending,
		"totals": map[string]any{"resources": i.Totals.Resources, "can_grow": i.Totals.CanGrow, "wait": i.Totals.Wait, "largest_gpu": i.Totals.LargestGPU}}
}
