package headprocess

import (
	"context"
	"fmt"

	"github.com/eagleray/eagleray/raftstate"
)

// ExclusiveSetting is the setting of a cluster that says whether actors are exclusive whose creators have not said it.
const ExclusiveSetting = "exclusive_actors"

// exclusive returns the setting. What is given is noted in the state; without it the state's holds.
func (c *Config) exclusive(ctx context.Context, state *raftstate.Node) (bool, error) {
	if c.ExclusiveActors == nil {
		b, known := state.Setting(ExclusiveSetting)
		return known && string(b) == "true", nil
	}
	if err := state.PutSetting(ctx, ExclusiveSetting, fmt.Append(nil, *c.ExclusiveActors)); err != nil {
		return false, fmt.Errorf("note the setting %s of the cluster: %w", ExclusiveSetting, err)
	}
	return *c.ExclusiveActors, nil
}
