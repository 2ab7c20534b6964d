package resume

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/sim"
)

// steps is how many events a seed has, before the faults end.
const steps = 400

func begin(d *sim.Die, log *sim.Log) sim.World { return newWorld(d, log, "") }

// Two sessions carry every byte once and in order, whatever the network does.
func TestSim_TwoSessions(t *testing.T) { sim.Run(t, steps, begin) }

func TestSim_SameSeed_SameEvents(t *testing.T) { sim.Replays(t, steps, begin) }
