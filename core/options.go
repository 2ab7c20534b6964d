package core

import (
	"context"
	"math"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/accelerator"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Call holds the options of a function or an actor. The zero value is Ray's defaults.
type Call struct {
	Name        string  // for people; of an actor: its name in the namespace
	NumCPUs     float64 // a function: 1 unless set; an actor: 1 to be placed, 0 to run unless set
	NumGPUs     float64
	ZeroCPUs    bool               // NumCPUs 0 is meant
	GPUMemory   int64              // bytes of one GPU's memory, or of each with NumGPUs; ParseBytes reads "8GiB"
	Memory      int64              // bytes, reserved
	Resources   map[string]float64 // custom ones
	RuntimeEnv  *RuntimeEnv        // nil: the session's environment
	GoWorker    string             // of GoFunction and NewGoActor: the path of the Go program that has registered it; "": that of Options, and in a worker its own program
	Strategy    Strategy           // on which node it runs; nil: the cluster's choice, or the placement group of the calling worker
	NumReturns  int                // a function's results, for SubmitMany; 0 means 1
	ItemsAhead  int                // a generator function's: how many items it may yield before they are taken; 0: any number
	MaxRetries  int                // a function's; 0 means 3, -1 none, InfiniteRetries without end
	MaxRestarts int                // an actor's; -1: without end

	GPUMemoryEnforce bool // end its worker when it exceeds GPUMemory: an error where nobody can watch
	RetryExceptions  bool // an exception of the Python code is retried, too, under MaxRetries or MaxTaskRetries
	MaxCalls         int  // a function's: how often a worker runs it; 0 means 1 with GPUs, else Unlimited

	// Of an actor only.
	MaxTaskRetries  int    // how often a call that had begun is repeated when the actor restarts; -1: without end
	MaxConcurrency  int    // calls at a time; 0 means 1
	MaxPendingCalls int    // more calls without an answer are an error (ErrPendingCalls); 0: any number
	Detached        bool   // it lives on when this program has ended; it needs a Name
	GetIfExists     bool   // NewActor returns the living actor of that Name, if there is one
	Namespace       string // of Name; "": the session's

	// At most one process of an Exclusive actor at a time begins calls, whatever happens to nodes and networks. NotExclusive says that
	// this actor is none, also where the cluster's setting exclusive_actors makes all others so.
	Exclusive, NotExclusive bool

	// Fallback lists alternatives for the case that the resources above are not free.
	// The first free alternative is taken, else the one that becomes free first. With
	// FallbackAfter the call waits for its own resources alone for that long.
	Fallback      []Alternative
	FallbackAfter time.Duration
}

// InfiniteRetries as MaxRetries repeats a function without end.
const InfiniteRetries = -2

// retries is how often a function is repeated.
func (o *Call) retries(name string) (int, error) {
	switch {
	case o.MaxRetries == InfiniteRetries:
		return -1, nil
	case o.MaxRetries < InfiniteRetries:
		return 0, invalid("%s: MaxRetries: %d is a number of retries, -1 for none, or InfiniteRetries", name, o.MaxRetries)
	case o.MaxRetries == 0:
		return 3, nil
	}
	return max(0, o.MaxRetries), nil
}

// checkFunction refuses options of actors, and options that contradict each other.
func (o *Call) checkFunction(name string) error {
	for field, set := range map[string]bool{
		"MaxRestarts": o.MaxRestarts != 0, "MaxTaskRetries": o.MaxTaskRetries != 0, "MaxConcurrency": o.MaxConcurrency != 0,
		"MaxPendingCalls": o.MaxPendingCalls != 0, "Detached": o.Detached, "GetIfExists": o.GetIfExists, "Namespace": o.Namespace != "",
		"Exclusive": o.Exclusive, "NotExclusive": o.NotExclusive,
	} {
		if set {
			return invalid("%s: %s is an option of actors, and this is a function", name, field)
		}
	}
	switch {
	case o.ItemsAhead < 0:
		return invalid("%s: ItemsAhead: %d must be 0 (any number) or more", name, o.ItemsAhead)
	case o.NumReturns < 0 || o.NumReturns > maxReturns:
		return invalid("%s: NumReturns: %d must be from 0 (which means 1) to %d", name, o.NumReturns, maxReturns)
	case o.RetryExceptions && o.MaxRetries == -1:
		return invalid("%s: RetryExceptions needs retries, and MaxRetries is -1, which means none", name)
	}
	return nil
}

// maxReturns bounds the results of one call.
const maxReturns = 1 << 16

// checkActor refuses options of functions, and options that contradict each other.
func (o *Call) checkActor(name string) error {
	for field, set := range map[string]bool{
		"MaxRetries": o.MaxRetries != 0, "MaxCalls": o.MaxCalls != 0, "NumReturns": o.NumReturns != 0, "ItemsAhead": o.ItemsAhead != 0,
	} {
		if set {
			return invalid("%s: %s is an option of functions, and this is an actor", name, field)
		}
	}
	switch {
	case o.MaxRestarts < -1:
		return invalid("%s: MaxRestarts: %d must be -1 (without end), 0 or more", name, o.MaxRestarts)
	case o.MaxTaskRetries < -1:
		return invalid("%s: MaxTaskRetries: %d must be -1 (without end), 0 or more", name, o.MaxTaskRetries)
	case o.MaxConcurrency < 0 || o.MaxPendingCalls < 0:
		return invalid("%s: MaxConcurrency and MaxPendingCalls must not be negative", name)
	case o.Detached && o.Name == "":
		return invalid("%s: a detached actor needs a Name: nobody could reach it without", name)
	case o.GetIfExists && o.Name == "":
		return invalid("%s: GetIfExists needs the Name that is looked for", name)
	case o.Exclusive && o.NotExclusive:
		return invalid("%s: Exclusive and NotExclusive contradict each other: give one of them, or none for the cluster's setting", name)
	case o.Namespace != "" && o.Name == "":
		return invalid("%s: Namespace is that of a Name, which is missing", name)
	case o.RetryExceptions && o.MaxTaskRetries == 0:
		return invalid("%s: RetryExceptions needs MaxTaskRetries, how often a call is repeated", name)
	}
	return nil
}

// exclusive is what the options say on the wire.
func (o *Call) exclusive() int8 {
	switch {
	case o.Exclusive:
		return wire.Yes
	case o.NotExclusive:
		return wire.No
	}
	return wire.Unsaid
}

// Of MaxCalls.
const (
	Unlimited = -1
	OnLeak    = -2 // until the worker's device memory grows; see the Python package's max_calls="on_leak"
)

func (o *Call) amounts(cpus float64) (map[string]int64, error) {
	if o.ZeroCPUs && o.NumCPUs != 0 {
		return nil, fault.New(fault.BadRequest, "NumCPUs is %v and ZeroCPUs says that it is 0: give one of them", o.NumCPUs)
	}
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
		if v > float64(resource.MaxBytes) {
			return nil, fault.New(fault.BadRequest, "resource %s: %v is too large: at most %v", n, v, float64(resource.MaxBytes))
		}
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

// enforce says whether the worker is to be ended when it exceeds its GPUMemory.
func (s *Session) enforce(o *Call, name string) (bool, error) {
	if !o.GPUMemoryEnforce {
		return false, nil
	}
	if o.GPUMemory <= 0 {
		return false, fault.New(fault.BadRequest, "%s: GPUMemoryEnforce needs GPUMemory, the share that must not be exceeded", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wire.HelloTimeout)
	defer cancel()
	var why string
	if err := s.c.Ask(ctx, wire.TGPUWatch, nil, &why); err != nil {
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
