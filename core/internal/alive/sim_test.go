package alive

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/sim"
)

// steps is how many events a seed has, before the faults end.
const steps = 1500

func TestSim_HeadsAndNodes(t *testing.T) {
	sim.Run(t, steps, func(d *sim.Die, log *sim.Log) sim.World { return newWorld(d, log, "") })
}

func TestSim_SameSeed_SameEvents(t *testing.T) {
	sim.Replays(t, steps, func(d *sim.Die, log *sim.Log) sim.World { return newWorld(d, log, "") })
}

// bug names what is wrong on purpose in a world.
type bug string

var bugs = []bug{
	"acknowledges without a commit", "acknowledges what came after the proposal", "may restart after 8 s", "dead after 8 s",
	"takes its own pause for silence", "believes doubled heartbeats", "lets the dead return", "counts from the answer",
	"hears no proof", "a new head believes its predecessor's silence", "never gives up",
	"many die as one does", "takes a lower number for a dead one",
	"no look before a call", "lower term taken", "takes a silent death for a proof", "a new head forgets the dead",
}

func TestSim_EachBug_IsFound(t *testing.T) {
	for _, b := range bugs {
		t.Run(string(b), func(t *testing.T) {
			sim.Find(t, steps, func(d *sim.Die, log *sim.Log) sim.World { return newWorld(d, log, b) })
		})
	}
}

// beforeEvent changes the machine of a head before it gets an event.
func (b bug) beforeEvent(h *head) {
	m := h.m
	switch b {
	case "may restart after 8 s":
		m.t.Fence = 8 * m.t.Dead / 10
	case "dead after 8 s":
		m.t.Dead = 8 * h.w.t.Dead / 10
	case "never gives up":
		m.t.Dead = 10 * h.w.t.Dead
	case "many die as one does":
		m.t.Many = h.w.t.Dead
	}
}

func (b bug) beforeAdvance(h *head) {
	if gap := h.time() - h.m.now; b == "takes its own pause for silence" && gap > longestGap {
		h.m.listened += gap
		h.m.now = h.time()
	}
}

func (b bug) beforeUp(h *head, number uint32) {
	if len(h.m.members) > 0 && b == "takes a lower number for a dead one" {
		h.m.died[number] = number < h.m.members[len(h.m.members)-1].number
	}
}

func (b bug) beforeHeard(h *head, x message) {
	m := h.m.living(x.node)
	switch {
	case b == "believes doubled heartbeats" && m != nil && x.number <= m.heard:
		m.fresh = true
	case b == "lets the dead return" && m == nil:
		h.m.join(x.node)
	}
}

func (b bug) beforeCommitted(h *head) {
	if b == "acknowledges what came after the proposal" {
		for _, m := range h.m.members {
			m.covered = m.heard
		}
	}
}

func (b bug) led(h *head) {
	if b == "a new head believes its predecessor's silence" {
		for _, m := range h.m.members {
			m.since, m.fresh = m.since-6*every, false
		}
	}
}

func (b bug) beforeAcknowledged(n *node, number uint64) {
	for i := range n.m.sent {
		if b == "counts from the answer" && n.m.sent[i].number == number {
			n.m.sent[i].at = n.m.now
		}
	}
}
