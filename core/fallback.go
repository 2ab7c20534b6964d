package core

import (
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/accelerator"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Alternative is what a function or an actor runs with while what its Call
// asks for is not free. Amounts are as in Call.
type Alternative struct {
	Path      string // of another function or class that takes the same arguments, or its name in the same Go worker program; "": the same one
	NumCPUs   float64
	NumGPUs   float64
	GPUMemory int64
	Memory    int64
	Resources map[string]float64
	ZeroCPUs  bool
}

func (a *Alternative) call() *Call {
	return &Call{NumCPUs: a.NumCPUs, NumGPUs: a.NumGPUs, GPUMemory: a.GPUMemory, Memory: a.Memory, Resources: a.Resources, ZeroCPUs: a.ZeroCPUs}
}

// afterMs checks the fallback as a whole and returns the time that it waits, rounded up.
func (o *Call) afterMs() (int64, error) {
	switch {
	case len(o.Fallback) > wire.MaxAlternatives:
		return 0, fault.New(fault.BadRequest, "fallback has %d alternatives, at most %d are allowed", len(o.Fallback), wire.MaxAlternatives)
	case o.FallbackAfter < 0:
		return 0, fault.New(fault.BadRequest, "FallbackAfter is %v, want 0 or more", o.FallbackAfter)
	case o.FallbackAfter > 0 && len(o.Fallback) == 0:
		return 0, fault.New(fault.BadRequest, "FallbackAfter is how long to wait before Fallback is used: give Fallback, too")
	}
	return (o.FallbackAfter + time.Millisecond - 1).Milliseconds(), nil
}

// functionCPUs is a function's share unless it says otherwise.
func (o *Call) functionCPUs() float64 {
	if o.NumCPUs == 0 && !o.ZeroCPUs {
		return 1
	}
	return o.NumCPUs
}

// maxCalls: a worker that has used a device is not used again.
func maxCalls(res map[string]int64) int {
	if accelerator.Uses(resource.FromWire(res)) {
		return 1
	}
	return 0
}

// functionFallback returns the templates of a function's alternatives.
func (o *Call) functionFallback(in *language) (list []*client.Template, err error) {
	for i := range o.Fallback {
		a := &o.Fallback[i]
		c := a.call()
		t := &client.Template{Name: o.Name}
		if t.Resources, err = c.amounts(c.functionCPUs()); err != nil {
			return nil, err
		}
		t.MaxCalls = maxCalls(t.Resources)
		if a.Path != "" {
			if t.FID, t.Blob, err = in.code(a.Path); err != nil {
				return nil, err
			}
			if t.Name == "" {
				t.Name = nameOf(a.Path)
			}
		}
		list = append(list, t)
	}
	return list, nil
}

// actorFallback adds the alternatives to an actor's specification.
func (o *Call) actorFallback(in *language, s *client.ActorSpec) (err error) {
	if s.AfterMs, err = o.afterMs(); err != nil {
		return err
	}
	for i := range o.Fallback {
		a := &o.Fallback[i]
		w := wire.Alternative{}
		if w.Resources, w.RunResources, err = a.call().actorAmounts(); err != nil {
			return err
		}
		var code client.ActorCode
		if a.Path != "" {
			if code.FID, code.Blob, err = in.code(a.Path); err != nil {
				return err
			}
			w.ClassName, w.MaxConcurrency = nameOf(a.Path), s.MaxConcurrency
		}
		s.Fallback, s.Classes = append(s.Fallback, w), append(s.Classes, code)
	}
	return nil
}

// actorAmounts returns what an actor needs to be placed and what it holds.
func (o *Call) actorAmounts() (place, run map[string]int64, err error) {
	if run, err = o.amounts(o.NumCPUs); err != nil {
		return nil, nil, err
	}
	place = run
	if o.NumCPUs == 0 && !o.ZeroCPUs {
		place, err = o.amounts(1)
	}
	return place, run, err
}

// nameOf is what follows the module in an import path.
func nameOf(path string) string { return path[strings.Index(path, ":")+1:] }
