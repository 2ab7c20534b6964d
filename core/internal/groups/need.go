package groups

import (
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// Need returns what work with a strategy needs, as the scheduler reads it.
func Need(s strategy.Strategy, resources map[string]int64) resource.Set {
	need := resource.FromWire(resources)
	if s.Kind != strategy.Group {
		return need
	}
	return resource.InBundle(need, resource.BundleID{Group: s.Group.String(), Index: s.Bundle})
}

// Wire is Need for a record.
func Wire(s strategy.Strategy, resources map[string]int64) map[string]int64 {
	if s.Kind != strategy.Group {
		return resources
	}
	return Need(s, resources).Wire()
}
