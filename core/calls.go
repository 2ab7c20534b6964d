package core

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/accelerator"
	"github.com/eagleray/eagleray/core/client"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/resource"
	"github.com/eagleray/eagleray/core/wire"
)

// Call holds the options of a function or an actor.
type Call struct {
	Name                        string  // for people; of an actor: its name in the namespace
	NumCPUs                     float64 // a function: 1 unless set; an actor: 1 to be placed, 0 to run unless set
	NumGPUs                     float64
	GPUMemory                   int64 // bytes of one GPU's memory, or of each with NumGPUs; ParseBytes reads "8GiB"
	GPUMemoryEnforce            bool  // end its worker when it exceeds that: an error where nobody can watch
	Memory                      int64 // bytes, reserved
	Resources                   map[string]float64
	ZeroCPUs                    bool // NumCPUs 0 is meant
	MaxRetries                  int  // a function's; 0 means 3, -1 none
	MaxCalls                    int  // a function's: how often a worker runs it; 0 means 1 with GPUs, else Unlimited
	MaxRestarts, MaxConcurrency int  // an actor's
	ItemsAhead                  int  // a generator function's: how many items it may yield before they are taken; 0: any number
	Detached                    bool

	// Fallback is tried in order while what is asked for above is not free:
	// the first that is free is taken, else whatever comes first. With
	// FallbackAfter the better one is waited for alone for so long.
	Fallback      []Alternative
	FallbackAfter time.Duration
}

// Of MaxCalls.
const (
	Unlimited = -1
	OnLeak    = -2 // until the worker's device memory grows; see the Python package's max_calls="on_leak"
)

func (o *Call) amounts(cpus float64) (map[string]int64, error) {
	if o.GPUMemory < 0 || o.GPUMemory > resource.MaxBytes {
		return nil, fault.New(fault.BadRequest, "GPUMemory: %d bytes must be from 0 to %d", o.GPUMemory, resource.MaxBytes)
	}
	r := map[string]float64{"CPU": cpus, "GPU": o.NumGPUs, "memory": float64(o.Memory), resource.GPUMemory: float64(o.GPUMemory)}
	for n, v := range o.Resources {
		if n == resource.GPUMemory {
			return nil, fault.New(fault.BadRequest, "resource %s: use the field GPUMemory", n)
		}
		r[n] = v
	}
	out := map[string]int64{}
	for n, v := range r {
		u := math.Round(v * unit)
		if v < 0 || math.IsNaN(v) || math.Abs(u-v*unit) > 1e-6*max(1, math.Abs(u)) {
			return nil, fault.New(fault.BadRequest, "resource %s: %v must be a non-negative number of at most 4 decimals", n, v)
		}
		if err := accelerator.Validate(n, resource.Amount(u)); err != nil {
			return nil, fault.New(fault.BadRequest, "%v", err)
		}
		if u > 0 {
			out[n] = int64(u)
		}
	}
	return out, nil
}

// ParseBytes reads a size such as "8GiB" or "500MB".
func ParseBytes(size string) (int64, error) { return resource.ParseBytes(size) }

func byPath(path string) (fid, blob []byte, err error) {
	mod, name, ok := strings.Cut(path, ":")
	if !ok || mod == "" || name == "" {
		return nil, nil, fault.New(fault.BadRequest, "function %q: want \"module:name\", such as \"math:sqrt\"", path)
	}
	blob = []byte(client.PathPrefix + path)
	h := sha256.Sum256(blob)
	return h[:16], blob, nil
}

// Function is a Python function with options.
type Function struct {
	s      *Session
	tmpl   int
	stream func() (int, error) // the template for Stream
}

// Function names a Python function by import path, "module:name".
func (s *Session) Function(path string, o Call) (*Function, error) {
	fid, blob, err := byPath(path)
	if err != nil {
		return nil, err
	}
	res, err := o.amounts(o.functionCPUs())
	if err != nil {
		return nil, err
	}
	after, err := o.afterMs()
	if err != nil {
		return nil, err
	}
	fallback, err := o.functionFallback()
	if err != nil {
		return nil, err
	}
	t := &client.Template{Kind: client.KindTask, Name: o.Name, FID: fid, Blob: blob, Returns: 1, MaxRetries: 3, Resources: res, EnvKey: s.envKey, Strategy: "DEFAULT",
		Fallback: fallback, AfterMs: after}
	if t.Name == "" {
		t.Name = nameOf(path)
	}
	if o.MaxRetries != 0 {
		t.MaxRetries = max(0, o.MaxRetries)
	}
	if t.MaxCalls, err = o.maxCalls(t.Name, res); err != nil {
		return nil, err
	}
	if t.Enforce, err = s.enforce(&o, t.Name); err != nil {
		return nil, err
	}
	if o.ItemsAhead < 0 {
		return nil, fault.New(fault.BadRequest, "%s: ItemsAhead: %d must be 0 (any number) or more", t.Name, o.ItemsAhead)
	}
	streams := *t // the client's own from here on
	id, err := s.c.NewTemplate(t)
	return &Function{s, id, sync.OnceValues(func() (int, error) { return s.streaming(streams, o.ItemsAhead) })}, err
}

// enforce says whether the worker is to be ended when it exceeds its GPUMemory.
func (s *Session) enforce(o *Call, name string) (bool, error) {
	if !o.GPUMemoryEnforce {
		return false, nil
	}
	if o.GPUMemory <= 0 {
		return false, fault.New(fault.BadRequest, "%s: GPUMemoryEnforce needs GPUMemory, the share that is not to be exceeded", name)
	}
	var why string
	if err := s.c.Daemon().Call(context.Background(), wire.TGPUWatch, nil, &why); err != nil {
		return false, err
	}
	if why != "" {
		return false, fault.New(fault.BadRequest, "%s: GPUMemoryEnforce is not possible on this node: %s", name, why)
	}
	return true, nil
}

// maxCalls is how often a worker runs the function.
func (o *Call) maxCalls(name string, res map[string]int64) (int, error) {
	switch {
	case o.MaxCalls > 0:
		return o.MaxCalls, nil
	case o.MaxCalls == OnLeak && maxCalls(res) > 0:
		return client.CallsUntilLeak, nil
	case o.MaxCalls < Unlimited:
		return 0, fault.New(fault.BadRequest, "%s: MaxCalls: %d is a number of calls, Unlimited, or OnLeak for functions with GPUs", name, o.MaxCalls)
	case o.MaxCalls == Unlimited:
		return 0, nil
	}
	return maxCalls(res), nil
}

// arguments packs positional arguments; references among them are resolved first.
func arguments(args []any) (v client.Value, deps []ids.Object, err error) {
	plain := make([]any, len(args))
	slots := []int{}
	for i, a := range args {
		if r, ok := a.(AnyRef); ok {
			deps = append(deps, r.object())
			slots = append(slots, i)
			continue
		}
		plain[i] = a
	}
	v.Fmt = client.FmtArgsPack
	v.Meta, err = msgpack.Marshal([]any{plain, map[string]any{}, slots})
	if err != nil {
		err = fmt.Errorf("encode the arguments: %w", err)
	}
	return v, deps, err
}

// Submit calls the function; it does not wait. T is what the function returns.
func Submit[T any](f *Function, args ...any) (*Ref[T], error) {
	v, deps, err := arguments(args)
	if err != nil {
		return nil, err
	}
	id, _, err := f.s.c.Submit(&client.Call{Template: f.tmpl, Args: v, Deps: deps})
	runtime.KeepAlive(args)
	if err != nil {
		return nil, err
	}
	return newRef[T](f.s, id), nil
}

// Actor is a Python actor that this program created or looked up.
type Actor struct {
	s  *Session
	id ids.Actor
}

// NewActor creates a Python actor of the class at an import path.
func (s *Session) NewActor(path string, o Call, args ...any) (*Actor, error) {
	fid, blob, err := byPath(path)
	if err != nil {
		return nil, err
	}
	place, run, err := o.actorAmounts()
	if err != nil {
		return nil, err
	}
	enforce, err := s.enforce(&o, path)
	if err != nil {
		return nil, err
	}
	v, deps, err := arguments(args)
	if err != nil {
		return nil, err
	}
	spec := &client.ActorSpec{FID: fid, Blob: blob, ActorCreate: wire.ActorCreate{
		ClassName: nameOf(path), Name: o.Name, Detached: o.Detached, Resources: place, RunResources: run, Enforce: enforce,
		EnvKey: s.envKey, MaxRestarts: o.MaxRestarts, MaxConcurrency: max(1, o.MaxConcurrency)}}
	if err := o.actorFallback(spec); err != nil {
		return nil, err
	}
	id, _, err := s.c.NewActor(spec, &v, deps)
	runtime.KeepAlive(args)
	if err != nil {
		return nil, err
	}
	a := &Actor{s: s, id: id}
	tok := s.c.ActorTokenID(id)
	runtime.AddCleanup(a, func(tok ids.Object) {
		if tok != (ids.Object{}) {
			s.c.Release(client.Drop{Object: tok})
		}
	}, tok)
	return a, nil
}

// ID returns the actor's id in hex.
func (a *Actor) ID() string { return a.id.String() }

// Kill ends the actor at once.
func (a *Actor) Kill() error { return a.s.c.KillActor(a.id, true) }

// Invoke calls a method; it does not wait. Calls of one goroutine run in order.
func Invoke[T any](a *Actor, method string, args ...any) (*Ref[T], error) {
	v, deps, err := arguments(args)
	if err != nil {
		return nil, err
	}
	t, err := a.s.method(method, client.Flow{})
	if err != nil {
		return nil, err
	}
	id, _, err := a.s.c.CallActor(a.id, &client.Call{Template: t, Args: v, Deps: deps})
	runtime.KeepAlive(args)
	runtime.KeepAlive(a)
	if err != nil {
		return nil, err
	}
	return newRef[T](a.s, id), nil
}

// methodKey is what calls of methods share a template by.
type methodKey struct {
	name string
	flow client.Flow
}

// method returns the session's template for calls of a method.
func (s *Session) method(name string, f client.Flow) (int, error) {
	key := methodKey{name, f}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.methods[key]; ok {
		return t, nil
	}
	t, err := s.c.NewTemplate(&client.Template{Kind: client.KindMethod, Name: name, Method: name, Returns: 1, Flow: f})
	if err == nil {
		s.methods[key] = t
	}
	return t, err
}
