package accelerator

import (
	"maps"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// Devices returns the ids by resource name, for resource.NewLedger.
func (n Node) Devices() map[string][]string {
	devices := make(map[string][]string)
	for _, g := range n.Groups {
		if len(g.IDs) > 0 {
			devices[g.Family.Resource] = g.IDs
		}
	}
	return devices
}

// Resources returns what the node has beside the devices: one of each
// accelerator_type:<T>, and what identifies a TPU slice.
func (n Node) Resources() resource.Set {
	s := make(resource.Set)
	for _, g := range n.Groups {
		if len(g.IDs) == 0 {
			continue
		}
		if g.Type != "" {
			s["accelerator_type:"+g.Type] = resource.Unit
		}
		for _, name := range g.extras {
			s[name] = resource.Unit
		}
	}
	return s
}

// Labels returns the node's labels: the type of its first accelerator whose type is known, and what identifies a TPU slice.
func (n Node) Labels() map[string]string {
	all := make(map[string]string)
	for _, g := range n.Groups {
		if len(g.IDs) == 0 {
			continue
		}
		if _, has := all[typeLabel]; g.Type != "" && !has {
			all[typeLabel] = g.Type
		}
		maps.Copy(all, g.labels)
	}
	return all
}

const typeLabel = "ray.io/accelerator-type"

// Env returns the variables that make the given devices visible. Families of
// which devices has none are not mentioned.
func (n Node) Env(devices map[string][]string) map[string]string {
	env := make(map[string]string)
	for _, g := range n.Groups {
		if ids := devices[g.Family.Resource]; len(g.IDs) > 0 && len(ids) > 0 && !g.noSet {
			maps.Copy(env, g.Family.visible(&g, ids))
		}
	}
	return env
}

// ZeroEnv returns the variables that hide those families of the node of which
// devices has none. It is empty where the node's environment has
// EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0.
func (n Node) ZeroEnv(devices map[string][]string) map[string]string {
	env := make(map[string]string)
	for _, g := range n.Groups {
		used := len(g.IDs) > 0 && len(devices[g.Family.Resource]) > 0
		if !used && !g.noSet && n.overrideOnZero {
			maps.Copy(env, g.Family.visible(&g, nil))
		}
	}
	return env
}

// IntIDs reports whether GPU ids are plain indices of this node rather than
// what its visibility variable or a MIG name says.
func (n Node) IntIDs() bool {
	for _, g := range n.Groups {
		if g.Family.Resource == GPU && (g.FromVariable || !allNumbers(g.IDs)) {
			return false
		}
	}
	return true
}

// Uses reports whether a request asks for an accelerator.
func Uses(need resource.Set) bool {
	for name, a := range need {
		if a > 0 && (IsAccelerator(name) || name == resource.GPUMemory) {
			return true
		}
	}
	return false
}
