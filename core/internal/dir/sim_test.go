package dir

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/sim"
)

// steps is how many events a seed has, before the faults end.
const steps = 600

// Nodes make, pull, drop and lose objects, and die. Every copy is known, every question is answered, and what is freed goes.
func TestSim_NodesAndOwner(t *testing.T) {
	sim.Run(t, steps, func(d *sim.Die, log *sim.Log) sim.World { return newWorld(d, log, "") })
}

func TestSim_SameSeed_SameEvents(t *testing.T) {
	sim.Replays(t, steps, func(d *sim.Die, log *sim.Log) sim.World { return newWorld(d, log, "") })
}

func TestSim_EachBug_IsFound(t *testing.T) {
	for _, b := range bugs {
		t.Run(string(b), func(t *testing.T) {
			sim.Find(t, steps, func(d *sim.Die, log *sim.Log) sim.World { return newWorld(d, log, b) })
		})
	}
}

// bug names what is wrong on purpose in a world: "" is nothing.
type bug string

var bugs = []bug{
	"does not free what is pulled", "keeps older versions", "forgets a question", "answers twice", "promotes nobody", "lets the last copy go",
	"takes any version for the newest", "believes the dead", "takes a broken connection for a loss", "serves too many", "frees a place twice",
	"lets two pull from each other", "forgets who has it", "keeps the dead", "leaves a further holder busy", "hears the session before", "never comes back", "believes what the dead could not read",
	"replies before it has told what it makes",
}

// changes returns what the directory would have told with the bug.
func (b bug) changes(w *world, a Action) []Action {
	switch a := a.(type) {
	case Free:
		e := w.nodes[a.To-1].things[a.ID]
		if b == "does not free what is pulled" && a.Version == 0 && e != nil && !e.whole || b == "keeps older versions" && a.Version != 0 {
			return nil
		}
	case At:
		if b == "forgets a question" && w.die.OneIn(4) {
			return nil
		}
		if b == "answers twice" && w.die.OneIn(4) {
			return []Action{a, a}
		}
	case Promote:
		if b == "promotes nobody" {
			return nil
		}
	}
	return []Action{a}
}

// before is called before an event.
func (b bug) before(w *world, m *message) {
	e := w.dir.entries[m.id]
	switch {
	case b == "takes any version for the newest" && m.what == "has" && e != nil:
		m.version = e.version
	case b == "believes the dead":
		clear(w.dir.dead)
	case b == "believes what the dead could not read" && m.what == "failed":
		delete(w.dir.dead, m.from)
	case b == "takes a broken connection for a loss" && m.what == "failed":
		m.absent = true
	case b == "leaves a further holder busy" && (m.what == "stop" || m.what == "has") && e != nil:
		if x := e.member(m.from); x != nil {
			x.more = nil
		}
	case b == "frees a place twice" && m.what == "stop" && e != nil:
		if x := e.member(m.from); x != nil && x.from != nil {
			x.from.load--
		}
	}
}

// after is called after an event.
func (b bug) after(w *world, m *message) {
	e := w.dir.entries[m.id]
	if e == nil {
		return
	}
	switch {
	case b == "serves too many" && len(e.members) > 3:
		for _, x := range e.members {
			if x.from != nil && x.from.load >= e.bound() {
				for _, y := range e.members {
					if y != x && y.from != nil {
						y.detach()
						y.from = x.from
						y.from.load++
						return
					}
				}
			}
		}
	case b == "lets two pull from each other" && len(e.members) > 2:
		x, y := e.members[1], e.members[2]
		if x.from != nil && y.from != nil && x != y {
			x.detach()
			y.detach()
			x.from, y.from = y, x
			x.load++
			y.load++
		}
	case b == "forgets who has it" && m.what == "has" && e.primary.node != m.from:
		if x := e.member(m.from); x != nil && x.whole {
			e.leave(x)
		}
	}
}
