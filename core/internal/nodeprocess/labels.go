package nodeprocess

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/eagleray/eagleray/core/internal/accelerator"
	"github.com/eagleray/eagleray/core/internal/labels"
)

// labelVars are the variables that give a node labels, as KubeRay sets them.
var labelVars = map[string]string{
	"RAY_NODE_TYPE_NAME":   "ray.io/node-group",
	"RAY_NODE_MARKET_TYPE": "ray.io/market-type",
	"RAY_NODE_REGION":      "ray.io/availability-region",
	"RAY_NODE_ZONE":        "ray.io/availability-zone",
}

// overrideLabelsVar is a JSON object of labels that count more than all others.
const overrideLabelsVar = "RAY_OVERRIDE_LABELS"

// nodeLabels returns the labels of the node: those of its devices and of variables, then those that the user has given, then those of RAY_OVERRIDE_LABELS. A later one counts.
func (c *Config) nodeLabels(env accelerator.Lookup, devices accelerators) (map[string]string, error) {
	all := make(map[string]string)
	for name, value := range devices.Labels() {
		if labels.IsValue(value) { // a vendor may call a device what no label can be
			all[name] = value
		}
	}
	for variable, name := range labelVars {
		if value, ok := env(variable); ok && value != "" {
			if err := labels.Check(map[string]string{name: value}); err != nil {
				return nil, fmt.Errorf("%s: %w", variable, err)
			}
			all[name] = value
		}
	}
	if err := labels.Check(c.Labels); err != nil {
		return nil, err
	}
	maps.Copy(all, c.Labels)
	if text, ok := env(overrideLabelsVar); ok && text != "" {
		var more map[string]string
		if err := json.Unmarshal([]byte(text), &more); err != nil {
			return nil, fmt.Errorf("%s: %.100q is not a JSON object of texts: %w", overrideLabelsVar, text, err)
		}
		if err := labels.Check(more); err != nil {
			return nil, fmt.Errorf("%s: %w", overrideLabelsVar, err)
		}
		maps.Copy(all, more)
	}
	return all, nil
}
