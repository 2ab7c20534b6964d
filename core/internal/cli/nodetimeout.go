package cli

import (
	"fmt"

	"github.com/eagleray/eagleray/core/internal/headprocess"
)

// nodeTimeout reads the setting node_timeout of --system-config, in seconds; 0: it is not given. The head of a cluster has it.
func nodeTimeout(system map[string]any, head bool) (float64, error) {
	v, given := system[headprocess.TimeoutSetting]
	if !given {
		return 0, nil
	}
	if !head {
		return 0, fmt.Errorf("--system-config: %s is a setting of the whole cluster: give it to `eagleray start --head`", headprocess.TimeoutSetting)
	}
	seconds, ok := v.(float64)
	if !ok {
		return 0, fmt.Errorf("--system-config: %s is %v, must be a number of seconds", headprocess.TimeoutSetting, v)
	}
	if err := headprocess.CheckTimeout(seconds); err != nil {
		return 0, fmt.Errorf("--system-config: %w", err)
	}
	return seconds, nil
}
