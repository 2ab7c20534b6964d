package client

import (
	"math"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// A template travels in one frame, which its reader refuses above wire.MaxData.
// Its name travels in messages of the daemon, too, among others.
const (
	maxName     = 1 << 20
	maxTemplate = wire.MaxData - 4*maxName
)

// The names of resources travel in messages among others, and are repeated there.
const (
	maxResourceName  = 64 << 10 // of one
	maxResourceNames = 2 << 20  // of all that one task or actor asks for
)

// maxActor is what the metadata and the code of an actor may have together. The
// cluster's state keeps them, whose commands are at most 16 MiB.
const maxActor = 12 << 20

// maxReturns is how many results a call can have. Its answer is one frame, in which each result takes some bytes.
const maxReturns = wire.MaxData / 16

// check refuses a template that no worker would read.
func (t *Template) check() error {
	for what, name := range map[string]string{"the name of a task": t.Name, "the name of a method": t.Method, "the name of a concurrency group": t.Group,
		"the key of an environment": t.EnvKey, "the name of a scheduling strategy": t.Strategy} {
		if err := checkName(what, name); err != nil {
			return err
		}
	}
	if err := checkFID("function", t.Name, t.FID); err != nil {
		return err
	}
	switch {
	case t.Kind != KindTask && t.Kind != KindMethod:
		return fault.New(fault.BadRequest, "%.60s is of kind %d, which is neither a function nor a method", t.Name, t.Kind)
	case t.Returns < 0 || t.Returns > maxReturns:
		return fault.New(fault.BadRequest, "a call of %.60s has %d results (num_returns), want 0 to %d: return a list, or yield them", t.Name, t.Returns, maxReturns)
	case t.MaxRetries < -1 || t.MaxRetries > math.MaxInt32:
		return fault.New(fault.BadRequest, "%.60s may be tried again %d times (max_retries, max_task_retries), want -1 (without end) to %d", t.Name, t.MaxRetries, math.MaxInt32)
	case t.MaxCalls < CallsUntilLeak:
		return fault.New(fault.BadRequest, "a worker runs %.60s %d times (max_calls), want 0 (no limit) or more", t.Name, t.MaxCalls)
	case t.Flow.Mode < 0 || t.Flow.Mode > FlowDynamic || t.Flow.Each < 0 || t.Flow.Each > math.MaxInt32:
		return fault.New(fault.BadRequest, "the generator %.60s has mode %d and %d items per yield, which nothing can read", t.Name, t.Flow.Mode, t.Flow.Each)
	}
	if n := len(t.Blob); n > maxTemplate {
		return fault.New(fault.BadRequest, "function %s has %d bytes pickled, at most %d are allowed: pass what is large in it as an argument, or as a reference that ray.put returned", t.Name, n, maxTemplate)
	}
	if err := checkResources(t.Name, t.Resources); err != nil {
		return err
	}
	if len(t.Fallback) > wire.MaxAlternatives {
		return nil // which is refused for that
	}
	for _, o := range t.Fallback {
		if err := o.check(); err != nil {
			return err
		}
	}
	return nil
}

// check refuses an actor that the cluster's state would not take.
func (s *ActorSpec) check() error {
	for what, name := range map[string]string{"the name of an actor": s.Name, "the namespace of an actor": s.Namespace, "the name of an actor's class": s.ClassName,
		"the key of an environment": s.EnvKey} {
		if err := checkName(what, name); err != nil {
			return err
		}
	}
	if err := checkFID("class", s.ClassName, s.FID); err != nil {
		return err
	}
	switch {
	case len(s.Fallback) > wire.MaxAlternatives:
		return fault.New(fault.BadRequest, "actor %.60s: fallback has %d alternatives, at most %d are allowed", s.ClassName, len(s.Fallback), wire.MaxAlternatives)
	case len(s.Classes) > len(s.Fallback):
		return fault.New(fault.BadRequest, "actor %.60s has the classes of %d alternatives and %d alternatives", s.ClassName, len(s.Classes), len(s.Fallback))
	case s.MaxRestarts < -1 || s.MaxConcurrency < 0 || s.AfterMs < 0:
		return fault.New(fault.BadRequest, "actor %.60s: max_restarts=%d, max_concurrency=%d and %d ms until its fallback is looked at: want -1 (without end) or more, and no other negative number",
			s.ClassName, s.MaxRestarts, s.MaxConcurrency, s.AfterMs)
	}
	for _, id := range s.codeObjects() {
		if _, err := ids.ParseObject(id); err != nil {
			return fault.New(fault.BadRequest, "actor %.60s: the object with its class: %v", s.ClassName, err)
		}
	}
	size := len(s.Meta) + len(s.Blob)
	for i, k := range s.Classes {
		if err := checkFID("class", s.Fallback[i].ClassName, k.FID); err != nil {
			return err
		}
		size += len(k.Blob)
	}
	if size > maxActor {
		return fault.New(fault.BadRequest, "actor %s: its class, the alternatives to it and what its methods declare have %d bytes pickled, and at most %d are allowed: pass what is large in them as arguments, or as references that ray.put returned", s.ClassName, size, maxActor)
	}
	for _, r := range []map[string]int64{s.Resources, s.RunResources} {
		if err := checkResources(s.ClassName, r); err != nil {
			return err
		}
	}
	for _, o := range s.Fallback {
		if err := checkName("the name of an alternative class", o.ClassName); err != nil {
			return err
		}
		for _, r := range []map[string]int64{o.Resources, o.RunResources} {
			if err := checkResources(s.ClassName, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFID refuses what is no hash of a function or a class. An empty one is allowed: the code is another template's.
func checkFID(what, name string, fid []byte) error {
	if n := len(fid); n > 0 && n != frame.FIDSize {
		return fault.New(fault.BadRequest, "the %s id of %.60s has %d bytes, want %d", what, name, n, frame.FIDSize)
	}
	return nil
}

func checkResources(whose string, r map[string]int64) error {
	if len(r) > wire.MaxAmounts {
		return fault.New(fault.BadRequest, "%.60s asks for %d resources, at most %d are allowed", whose, len(r), wire.MaxAmounts)
	}
	all := 0
	for name := range r {
		if len(name) > maxResourceName {
			return fault.New(fault.BadRequest, "%.60s asks for a resource whose name has %d bytes, at most %d are allowed; it begins with %.60q", whose, len(name), maxResourceName, name)
		}
		all += len(name)
	}
	if all > maxResourceNames {
		return fault.New(fault.BadRequest, "%.60s asks for %d resources whose names have %d bytes together, at most %d are allowed", whose, len(r), all, maxResourceNames)
	}
	return nil
}

// checkReferences refuses a call whose message would be too large.
func checkReferences(name string, n int) error {
	if n > frame.MaxReferences {
		return fault.New(fault.BadRequest, "a call of %.60s takes %d references as arguments, and at most %d are allowed: pass them in a list", name, n, frame.MaxReferences)
	}
	return nil
}

func checkName(what, name string) error {
	if len(name) > maxName {
		return fault.New(fault.BadRequest, "%s has %d bytes, at most %d are allowed; it begins with %.60q", what, len(name), maxName, name)
	}
	return nil
}
