package accelerator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/resource"
)

// GPU is the resource that three families share.
const GPU = "GPU"

// Family is one vendor's kind of accelerator.
type Family struct {
	Name      string   // "nvidia", as in EAGLERAY_GPU_FAMILY
	Resource  string   // "GPU"
	Vars      []string // visibility variables; the first is named in messages
	Fractions bool     // several tasks may share one
	Counts    []int    // the only counts that can be asked for; nil: any

	// detect looks at the node. It returns nothing where there is nothing.
	detect func(h *host) found
	// memory tells how much each device has; nil: nobody does. The ids are those
	// that are offered. See GPUMemory.
	memory func(h *host, ids []string) []memoryOf
	// limit reads the visibility variables; nil: a list of ids in Vars[0].
	limit func(env Lookup) (limit, error)
	// env makes the given devices visible, none for none; nil: a list in Vars[0].
	env func(g *Group, ids []string) map[string]string
}

// found is what detection saw.
type found struct {
	ids    []string // how a process names them, in order
	kind   string   // type name, "" when unknown
	extras []string // further resources of the node, one of each
}

// limit is what the node's visibility variable says.
type limit struct {
	set  bool
	ids  []string
	form string // what stands in front of the ids, for families with a choice
}

// families is the registry, in order of preference among those that share a
// resource name.
var families = []*Family{&nvidia, &amd, &intel, &tpu, &neuron, &hpu, &npu}

// Names returns the resource names of accelerators, sorted.
func Names() []string {
	var names []string
	for _, f := range families {
		names = append(names, f.Resource)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// IsAccelerator reports whether a resource is an accelerator.
func IsAccelerator(resourceName string) bool { return ofResource(resourceName) != nil }

func ofResource(name string) *Family {
	i := slices.IndexFunc(families, func(f *Family) bool { return f.Resource == name })
	if i < 0 {
		return nil
	}
	return families[i]
}

// Validate reports why a task cannot ask for so much of a resource on any node:
// a fraction of what cannot be shared, more than one that is not whole, or a
// count that the family does not have. Other resources are always valid.
func Validate(resourceName string, a resource.Amount) error {
	f := ofResource(resourceName)
	switch {
	case f == nil || a == 0:
		return nil
	case !f.Fractions && !a.Whole():
		return fmt.Errorf("%s: asked %s; must be a whole number", resourceName, a)
	case !a.Whole() && a > resource.Unit:
		return fmt.Errorf("%s: asked %s; must be a whole number or a fraction below 1", resourceName, a)
	case f.Counts != nil && !slices.Contains(f.Counts, int(a/resource.Unit)):
		return fmt.Errorf("%s: asked %s; must be one of %s", resourceName, a, strings.Trim(fmt.Sprint(f.Counts), "[]"))
	}
	return nil
}

// readLimit returns what the node's variables say of the family.
func (f *Family) readLimit(env Lookup) (limit, error) {
	if f.limit != nil {
		return f.limit(env)
	}
	value, ok := env(f.Vars[0])
	return limit{set: ok, ids: splitIDs(value)}, nil
}

// visible returns the variables that make exactly these devices visible.
func (f *Family) visible(g *Group, ids []string) map[string]string {
	if f.env != nil {
		return f.env(g, ids)
	}
	return map[string]string{f.Vars[0]: strings.Join(ids, ",")}
}

// anySet reports whether the node has one of the family's variables, not empty.
func (f *Family) anySet(env Lookup) bool {
	return slices.ContainsFunc(f.Vars, func(name string) bool {
		value, _ := env(name)
		return value != ""
	})
}

// unique returns the ids without those that came before.
func unique(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	var once []string
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			once = append(once, id)
		}
	}
	return once
}

// splitIDs reads a list of ids. As in CUDA the first that is negative or says
// none ends it.
func splitIDs(list string) []string {
	var ids []string
	for id := range strings.SplitSeq(list, ",") {
		switch id = strings.TrimSpace(id); {
		case id == "":
			continue
		case id[0] == '-', id == "NoDevFiles", id == "none", id == "void":
			return ids
		}
		ids = append(ids, id)
	}
	return ids
}
