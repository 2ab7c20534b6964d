package nodeprocess

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"

	"github.com/eagleray/eagleray/core/internal/accelerator"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// overrideResourcesVars are JSON objects of amounts that count more than what the user has declared. The first that is set counts.
var overrideResourcesVars = []string{"EAGLERAY_OVERRIDE_RESOURCES", "RAY_OVERRIDE_RESOURCES"}

// overridden returns the configuration with what the variables say about the node's resources.
func (c Config) overridden(env accelerator.Lookup) (Config, error) {
	for _, variable := range overrideResourcesVars {
		text, ok := env(variable)
		if !ok || text == "" {
			continue
		}
		var amounts map[string]float64
		if err := json.Unmarshal([]byte(text), &amounts); err != nil || amounts == nil {
			return c, fmt.Errorf(`%s: %.100q is not a JSON object of numbers; what is expected looks like '{"CPU": 4, "disk": 2}'`, variable, text)
		}
		c.Resources = maps.Clone(c.Resources)
		for name, amount := range amounts {
			if err := c.set(name, amount); err != nil {
				return c, fmt.Errorf("%s: %w", variable, err)
			}
		}
		return c, nil
	}
	return c, nil
}

func (c *Config) set(name string, amount float64) error {
	if name == "" {
		return fmt.Errorf("a resource has no name")
	}
	if amount < 0 {
		return fmt.Errorf("%s is %v, must not be negative", name, amount)
	}
	switch name {
	case "CPU":
		c.NumCPUs = &amount
	case "GPU":
		if amount != math.Trunc(amount) {
			return fmt.Errorf("GPU is %v, must be a whole number of devices", amount)
		}
		c.NumGPUs = &amount
	case "memory", "object_store_memory":
		if amount > float64(resource.MaxBytes) {
			return fmt.Errorf("%s is %v bytes: at most %s", name, amount, resource.FormatBytes(resource.MaxBytes))
		}
		bytes := uint64(amount)
		if name == "memory" {
			c.Memory = &bytes
		} else {
			c.ObjectStoreMemory = &bytes
		}
	case resource.GPUMemory:
		return fmt.Errorf("%s cannot be overridden: give it to init or eagleray start", name)
	default:
		if c.Resources == nil {
			c.Resources = make(map[string]float64)
		}
		c.Resources[name] = amount
	}
	return nil
}
