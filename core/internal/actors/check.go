package actors

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// MaxActor is what the metadata and the code of an actor may have together. The
// cluster's state keeps them, whose commands are at most 16 MiB.
const MaxActor = 12 << 20

// Check refuses an actor that the cluster's state would not take.
func (s *Spec) Check() error {
	for what, name := range map[string]string{"the name of an actor": s.Name, "the namespace of an actor": s.Namespace, "the name of an actor's class": s.ClassName,
		"the key of an environment": s.EnvKey} {
		if err := templates.CheckName(what, name); err != nil {
			return err
		}
	}
	if err := templates.CheckFID("class", s.ClassName, s.FID); err != nil {
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
	for _, id := range s.CodeObjects() {
		if _, err := ids.ParseObject(id); err != nil {
			return fault.New(fault.BadRequest, "actor %.60s: the object with its class: %v", s.ClassName, err)
		}
	}
	size := len(s.Meta) + len(s.Blob)
	for i, k := range s.Classes {
		if err := templates.CheckFID("class", s.Fallback[i].ClassName, k.FID); err != nil {
			return err
		}
		size += len(k.Blob)
	}
	if size > MaxActor {
		return fault.New(fault.BadRequest, "actor %s: its class, the alternatives to it and what its methods declare have %d bytes pickled, and at most %d are allowed: pass what is large in them as arguments, or as references that ray.put returned", s.ClassName, size, MaxActor)
	}
	for _, r := range []map[string]int64{s.Resources, s.RunResources} {
		if err := templates.CheckResources(s.ClassName, r); err != nil {
			return err
		}
	}
	for _, o := range s.Fallback {
		if err := templates.CheckName("the name of an alternative class", o.ClassName); err != nil {
			return err
		}
		for _, r := range []map[string]int64{o.Resources, o.RunResources} {
			if err := templates.CheckResources(s.ClassName, r); err != nil {
				return err
			}
		}
	}
	return nil
}
