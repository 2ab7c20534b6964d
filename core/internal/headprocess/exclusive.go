package headprocess

import (
	"context"
	"fmt"

	"github.com/eagleray/eagleray/raftstate"
)

// ExclusiveSetting is the setting of a cluster that says whether actors are exclusive whose creators have not said it.
const ExclusiveSetting = "exclusive_actors"

// noteExclusive notes in the state what is given.
func (c *Config) noteExclusive(ctx context.Context, state *raftstate.Node) error {
	if c.ExclusiveActors == nil {
		return nil
	}
	if err := state.PutSetting(ctx, ExclusiveSetting, fmt.Append(nil, *c.ExclusiveActors)); err != nil {
		return fmt.Errorf("note the setting %s of the cluster: %w", ExclusiveSetting, err)
	}
	return nil
}

// exclusiveIn returns the setting in the state.
func exclusiveIn(state *raftstate.Node) bool {
	b, known := state.Setting(ExclusiveSetting)
	return known && string(b) == "true"
}
