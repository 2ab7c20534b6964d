package binding

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Hooks are what the C half offers; set before the first Connect.
var Hooks client.Options

var (
	mu      sync.Mutex // of connecting and disconnecting
	current atomic.Pointer[client.Client]
	last    atomic.Pointer[client.Client] // for what it still has to print
)

// Current returns the session, nil when there is none.
func Current() *client.Client { return current.Load() }

type config struct {
	Sock  string            `msgpack:"sock"`
	Role  string            `msgpack:"role"`
	Token string            `msgpack:"token"`
	Vars  map[string]string `msgpack:"vars"` // those of the environment that are settings
	Job   struct {
		Namespace   string `msgpack:"namespace"`
		Entrypoint  string `msgpack:"entrypoint"`
		LogToDriver bool   `msgpack:"log_to_driver"`
	} `msgpack:"job"`
	Env wire.EnvSpec `msgpack:"env"`

	NotReady bool `msgpack:"not_ready"` // of a worker: the call worker_ready comes later
}

// Connect joins a session; see docs/hot-api.md for the maps.
func Connect(b []byte) ([]byte, error) {
	var cfg config
	if err := msgpack.Unmarshal(b, &cfg); err != nil {
		return nil, fault.New(fault.BadRequest, "configuration of connect: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if c := current.Load(); c != nil {
		return nil, fault.New(fault.AlreadyExists, "this process already has a session")
	}
	o := Hooks
	o.Socket, o.Role, o.Token, o.Env = cfg.Sock, cfg.Role, cfg.Token, cfg.Vars
	o.NotReady = cfg.NotReady
	o.Job = wire.JobStart{Namespace: cfg.Job.Namespace, Entrypoint: cfg.Job.Entrypoint, LogToDriver: cfg.Job.LogToDriver, Env: cfg.Env}
	c, err := client.Connect(o)
	if err != nil {
		return nil, err
	}
	current.Store(c)
	last.Store(c)
	i := c.Info()
	return msgpack.Marshal(map[string]any{
		"node_id": i.Node[:], "worker_id": i.Worker[:], "job_id": i.Job[:], "namespace": i.Namespace,
		"session_dir": i.SessionDir, "node_addr": i.NodeAddr, "addr": i.Addr, "daemon_pid": i.DaemonPid,
		"totals": i.Totals.Resources, "can_grow": i.Totals.CanGrow, "wait": i.Totals.Wait,
	})
}

// Disconnect ends the session.
func Disconnect(drain time.Duration) {
	mu.Lock()
	defer mu.Unlock()
	if c := current.Swap(nil); c != nil {
		c.Close(drain)
	}
}

// ParseTemplate reads the map of template().
func ParseTemplate(b []byte) (*client.Template, error) {
	var t struct {
		Kind       string           `msgpack:"kind"`
		Name       string           `msgpack:"name"`
		FID        []byte           `msgpack:"fid"`
		Blob       []byte           `msgpack:"blob"`
		Method     string           `msgpack:"method"`
		Returns    int              `msgpack:"num_returns"`
		MoreMemory bool             `msgpack:"retry_with_more_memory"`
		MaxRetries int              `msgpack:"max_retries"`
		RetryErrs  bool             `msgpack:"retry_exceptions"`
		MaxCalls   int              `msgpack:"max_calls"`
		Resources  map[string]int64 `msgpack:"resources"`
		EnvKey     string           `msgpack:"env_key"`
		Strategy   string           `msgpack:"strategy"`
		Fallback   []alternative    `msgpack:"fallback"`
		After      float64          `msgpack:"fallback_after"`
		Enforce    bool             `msgpack:"gpu_memory_enforce"`
		Flow       []int64          `msgpack:"flow"` // mode, items per yield, limit, 1: tell what was taken
		Group      string           `msgpack:"group"`
		Unordered  bool             `msgpack:"unordered"`
		Hidden     bool             `msgpack:"hidden"`
	}
	if err := msgpack.Unmarshal(b, &t); err != nil {
		return nil, fault.New(fault.BadRequest, "template: %v", err)
	}
	out := &client.Template{Name: t.Name, FID: t.FID, Blob: t.Blob, Method: t.Method, Returns: t.Returns, MaxRetries: t.MaxRetries,
		RetryErrs: t.RetryErrs, MaxCalls: t.MaxCalls, Resources: t.Resources, EnvKey: t.EnvKey, Strategy: t.Strategy, Enforce: t.Enforce, MoreMemory: t.MoreMemory, Group: t.Group, Unordered: t.Unordered, Hidden: t.Hidden, AfterMs: millis(t.After)}
	if f := t.Flow; len(f) == 4 {
		out.Flow = client.Flow{Mode: int(f[0]), Each: int(f[1]), Limit: uint64(max(0, f[2])), Counted: f[3] == 1}
	}
	for _, o := range t.Fallback {
		out.Fallback = append(out.Fallback, &client.Template{Name: o.Name, FID: o.FID, Blob: o.Blob, MaxCalls: o.MaxCalls, Resources: o.Resources})
	}
	switch {
	case t.Kind == "method":
		out.Kind = client.KindMethod
	case len(t.FID) != 16:
		return nil, fault.New(fault.BadRequest, "template of %s: the function id has %d bytes, want 16", t.Name, len(t.FID))
	}
	return out, nil
}

// ParseActor reads the map of actor_create().
func ParseActor(b []byte) (*client.ActorSpec, error) {
	var a struct {
		ClassName      string           `msgpack:"class_name"`
		Name           string           `msgpack:"name"`
		Namespace      string           `msgpack:"namespace"`
		Detached       bool             `msgpack:"detached"`
		GetIfExists    bool             `msgpack:"get_if_exists"`
		Resources      map[string]int64 `msgpack:"resources"`
		RunResources   map[string]int64 `msgpack:"run_resources"`
		EnvKey         string           `msgpack:"env_key"`
		MaxRestarts    int              `msgpack:"max_restarts"`
		MaxConcurrency int              `msgpack:"max_concurrency"`
		MaxPending     int              `msgpack:"max_pending_calls"`
		FID            []byte           `msgpack:"fid"`
		Blob           []byte           `msgpack:"blob"`
		Meta           []byte           `msgpack:"meta"`
		Fallback       []alternative    `msgpack:"fallback"`
		After          float64          `msgpack:"fallback_after"`
		Enforce        bool             `msgpack:"gpu_memory_enforce"`
		Code           []byte           `msgpack:"code"`
		Strategy       string           `msgpack:"strategy"`
		Exclusive      int8             `msgpack:"exclusive"` // wire.Yes, No or Unsaid
	}
	if err := msgpack.Unmarshal(b, &a); err != nil {
		return nil, fault.New(fault.BadRequest, "actor specification: %v", err)
	}
	out := &client.ActorSpec{FID: a.FID, Blob: a.Blob, ActorCreate: wire.ActorCreate{
		ClassName: a.ClassName, Name: a.Name, Namespace: a.Namespace, Detached: a.Detached, GetIfExists: a.GetIfExists,
		Resources: a.Resources, RunResources: a.RunResources, EnvKey: a.EnvKey, MaxRestarts: a.MaxRestarts,
		MaxConcurrency: a.MaxConcurrency, MaxPendingCalls: a.MaxPending, Meta: a.Meta, Enforce: a.Enforce, AfterMs: millis(a.After), Code: a.Code, Strategy: a.Strategy, Exclusive: a.Exclusive,
	}}
	for _, o := range a.Fallback {
		out.Fallback = append(out.Fallback, wire.Alternative{Resources: o.Resources, RunResources: o.RunResources, ClassName: o.Name, MaxConcurrency: o.MaxConcurrency, Code: o.Code})
		out.Classes = append(out.Classes, client.ActorCode{FID: o.FID, Blob: o.Blob})
	}
	return out, nil
}

// alternative is one of a template's or an actor's "fallback".
type alternative struct {
	Resources      map[string]int64 `msgpack:"resources"`
	RunResources   map[string]int64 `msgpack:"run_resources"`
	MaxCalls       int              `msgpack:"max_calls"`
	MaxConcurrency int              `msgpack:"max_concurrency"`
	Name           string           `msgpack:"name"` // of another function or class
	FID            []byte           `msgpack:"fid"`
	Blob           []byte           `msgpack:"blob"`
	Code           []byte           `msgpack:"code"` // of an actor: the object with the class, if the cluster is to keep it
}

// millis rounds up: a time that is not zero stays so.
func millis(seconds float64) int64 { return int64(math.Ceil(min(seconds, 1e12) * 1000)) }

// ActorItem is the map that the worker gets with its constructor.
func ActorItem(s *wire.ActorStart, t *client.RemoteTemplate) []byte {
	m := map[string]any{
		"actor_id": s.ActorID, "name": s.Name, "namespace": s.Namespace, "class_name": s.ClassName, "incarnation": s.Incarnation,
		"max_concurrency": s.MaxConcurrency, "owner_addr": s.Token, "meta": s.Meta,
		"assignment": map[string]any{"resources": s.Assignment.Resources, "devices": s.Assignment.Devices, "env": s.Assignment.Env, "int_ids": s.Assignment.IntIDs, "strategy": s.Strategy},
	}
	if s.Exclusive {
		m["exclusive"] = true
	}
	if len(s.Code) > 0 {
		m["fetched"] = true // the class came from the cluster's state
	}
	if t != nil {
		m["fid"] = t.FID[:]
	}
	b, err := msgpack.Marshal(m)
	if err != nil {
		return nil
	}
	return b
}

// NextEvent returns the next note for the printing thread, nil when the timeout passed.
// A session that is closing still gives what workers wrote, then "closed".
func NextEvent(timeout time.Duration) []byte {
	c := last.Load()
	if c == nil {
		return nil
	}
	n := c.NextNote(timeout)
	if n == nil {
		return nil
	}
	var v []any
	switch {
	case n.Log != nil:
		l := n.Log
		v = []any{"log", l.Pid, l.Name, l.Stderr, l.Carriage, l.Text, l.Source, l.Node}
	case n.Warning != "":
		v = []any{"warn", n.Warning}
	case n.Error != "":
		v = []any{"error", n.Error}
	default:
		v = []any{"closed", n.Closed}
	}
	b, err := msgpack.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

func deadline(timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout < 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), timeout)
}
