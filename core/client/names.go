package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
)

// A template travels in one frame, which its reader refuses above wire.MaxData,
// and its name in messages of the daemon's beside others.
const (
	maxName     = 1 << 20
	maxTemplate = wire.MaxData - 4*maxName
)

// check refuses what no worker would read.
func (t *Template) check() error {
	if err := checkName("the name of a task", t.Name); err != nil {
		return err
	}
	if n := len(t.Blob); n > maxTemplate {
		return fault.New(fault.BadRequest, "function %s has %d bytes pickled, at most %d are allowed: pass what is large in it as an argument, or as a reference that ray.put returned", t.Name, n, maxTemplate)
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

func checkName(what, name string) error {
	if len(name) > maxName {
		return fault.New(fault.BadRequest, "%s has %d bytes, at most %d are allowed; it begins with %.60q", what, len(name), maxName, name)
	}
	return nil
}
