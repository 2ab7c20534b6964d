package refs

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/sim"
)

// simSteps is how many events a seed has, before everything is let go of.
const simSteps = 500

func simBegin(d *sim.Die, log *sim.Log) sim.World { return newNodesWorld(d, log, "") }

// Processes on several nodes borrow from each other, and nodes die. Nothing that somebody holds goes early, and nothing stays.
func TestSim_BorrowersOfSeveralNodes(t *testing.T) { sim.Run(t, simSteps, simBegin) }

func TestSim_SameSeed_SameEvents(t *testing.T) { sim.Replays(t, simSteps, simBegin) }

func TestSim_EachBug_IsFound(t *testing.T) {
	for _, bug := range []string{
		"early close", "retained arguments go at once", "held answers go at once", "a registration is lost", "registered before the owner has heard",
		"an answer is confirmed when it is read", "a return is lost", "a dead borrower is kept", "a dead owner is waited for",
	} {
		t.Run(bug, func(t *testing.T) {
			sim.Find(t, simSteps, func(d *sim.Die, log *sim.Log) sim.World { return newNodesWorld(d, log, bug) })
		})
	}
}
