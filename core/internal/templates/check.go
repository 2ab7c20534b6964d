package templates

import (
	"math"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A template travels in one frame, which its reader refuses above wire.MaxData.
// Its name travels in messages of the daemon, too, among others.
const (
	MaxName     = 1 << 20
	maxTemplate = wire.MaxData - 4*MaxName
)

// The names of resources travel in messages among others, and are repeated there.
const (
	MaxResourceName  = 64 << 10 // of one
	maxResourceNames = 2 << 20  // of all that one task or actor asks for
)

// maxReturns is how many results a call can have. Its answer is one frame, in which each result takes some bytes.
const maxReturns = wire.MaxData / 16

// Check refuses a template that no worker would read.
func (t *Template[C]) Check() error {
	for what, name := range map[string]string{"the name of a task": t.Name, "the name of a method": t.Method, "the name of a concurrency group": t.Group,
		"the key of an environment": t.EnvKey, "the name of a scheduling strategy": t.Strategy} {
		if err := CheckName(what, name); err != nil {
			return err
		}
	}
	if err := CheckFID("function", t.Name, t.FID); err != nil {
		return err
	}
	switch {
	case t.Kind != frame.KindTask && t.Kind != frame.KindMethod:
		return fault.New(fault.BadRequest, "%.60s is of kind %d, which is neither a function nor a method", t.Name, t.Kind)
	case t.Returns < 0 || t.Returns > maxReturns:
		return fault.New(fault.BadRequest, "a call of %.60s has %d results (num_returns), want 0 to %d: return a list, or yield them", t.Name, t.Returns, maxReturns)
	case t.MaxRetries < -1 || t.MaxRetries > math.MaxInt32:
		return fault.New(fault.BadRequest, "%.60s may be tried again %d times (max_retries, max_task_retries), want -1 (without end) to %d", t.Name, t.MaxRetries, math.MaxInt32)
	case t.MaxCalls < CallsUntilLeak:
		return fault.New(fault.BadRequest, "a worker runs %.60s %d times (max_calls), want 0 (no limit) or more", t.Name, t.MaxCalls)
	case t.Flow.Mode < 0 || t.Flow.Mode > frame.FlowDynamic || t.Flow.Each < 0 || t.Flow.Each > math.MaxInt32:
		return fault.New(fault.BadRequest, "the generator %.60s has mode %d and %d items per yield, which nothing can read", t.Name, t.Flow.Mode, t.Flow.Each)
	}
	if n := len(t.Blob); n > maxTemplate {
		return fault.New(fault.BadRequest, "function %s has %d bytes pickled, at most %d are allowed: pass what is large in it as an argument, or as a reference that ray.put returned", t.Name, n, maxTemplate)
	}
	if err := CheckResources(t.Name, t.Resources); err != nil {
		return err
	}
	if len(t.Fallback) > wire.MaxAlternatives {
		return fault.New(fault.BadRequest, "task %s: fallback has %d alternatives, at most %d are allowed", t.Name, len(t.Fallback), wire.MaxAlternatives)
	}
	for _, o := range t.Fallback {
		if err := o.Check(); err != nil {
			return err
		}
	}
	return nil
}

// CheckFID refuses what is no hash of a function or a class. An empty one is allowed: the code is another template's.
func CheckFID(what, name string, fid []byte) error {
	if n := len(fid); n > 0 && n != frame.FIDSize {
		return fault.New(fault.BadRequest, "the %s id of %.60s has %d bytes, want %d", what, name, n, frame.FIDSize)
	}
	return nil
}

// CheckResources refuses resources that are too many, or have too long names.
func CheckResources(whose string, r map[string]int64) error {
	if len(r) > wire.MaxAmounts {
		return fault.New(fault.BadRequest, "%.60s asks for %d resources, at most %d are allowed", whose, len(r), wire.MaxAmounts)
	}
	all := 0
	for name := range r {
		if len(name) > MaxResourceName {
			return fault.New(fault.BadRequest, "%.60s asks for a resource whose name has %d bytes, at most %d are allowed; it begins with %.60q", whose, len(name), MaxResourceName, name)
		}
		all += len(name)
	}
	if all > maxResourceNames {
		return fault.New(fault.BadRequest, "%.60s asks for %d resources whose names have %d bytes together, at most %d are allowed", whose, len(r), all, maxResourceNames)
	}
	return nil
}

// CheckName refuses a name that is too long for the messages that it travels in.
func CheckName(what, name string) error {
	if len(name) > MaxName {
		return fault.New(fault.BadRequest, "%s has %d bytes, at most %d are allowed; it begins with %.60q", what, len(name), MaxName, name)
	}
	return nil
}
