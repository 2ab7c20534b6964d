package cli

import (
	"fmt"

	"github.com/eagleray/eagleray/core/internal/headprocess"
)

// exclusiveActors reads the setting exclusive_actors of --system-config; nil: it is not given. The head of a cluster has it.
func exclusiveActors(system map[string]any, head bool) (*bool, error) {
	v, given := system[headprocess.ExclusiveSetting]
	if !given {
		return nil, nil
	}
	if !head {
		return nil, fmt.Errorf("--system-config: %s is a setting of the whole cluster: give it to `eagleray start --head`", headprocess.ExclusiveSetting)
	}
	yes, ok := v.(bool)
	if !ok {
		return nil, fmt.Errorf("--system-config: %s is %v, must be true or false", headprocess.ExclusiveSetting, v)
	}
	return &yes, nil
}
