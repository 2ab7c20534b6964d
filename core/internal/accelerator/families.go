package accelerator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/resource"
)

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

// Variables returns the names of the variables that say which accelerators a process sees.
func Variables() []string {
	names := []string{nvidiaContainerVar}
	for _, f := range families {
		names = append(names, f.Vars...)
	}
	return names
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
