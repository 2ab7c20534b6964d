package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/wire"
)

// A template travels in one frame, which its reader refuses above wire.MaxData,
// and its name in messages of the daemon's beside others.
const (
	maxName     = 1 << 20
	maxTemplate = wire.MaxData - 4*maxName
)

// The names of resources travel in messages with others, and are repeated there.
const (
	maxResourceName  = 64 << 10 // of one
	maxResourceNames = 2 << 20  // of all that one task or actor asks for
)

// maxActor is what the metadata and the code of an actor may have together. The
// cluster's state keeps them, whose commands are at most 16 MiB.
const maxActor = 12 << 20

// check refuses what no worker would read.
func (t *Template) check() error {
	if err := checkName("the name of a task", t.Name); err != nil {
		return err
	}
	if n := len(t.FID); n > 0 && n != frame.FIDSize {
		return fault.New(fault.BadRequest, "the function id of %.60s has %d bytes, want %d", t.Name, n, frame.FIDSize)
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
	for what, name := range map[string]string{"the name of an actor": s.Name, "the namespace of an actor": s.Namespace, "the name of an actor's class": s.ClassName} {
		if err := checkName(what, name); err != nil {
			return err
		}
	}
	size := len(s.Meta) + len(s.Blob)
	for _, k := range s.Classes {
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
		if err := checkResources(s.ClassName, o.Resources); err != nil {
			return err
		}
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
