package head

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// oneActor is a state that holds one actor and nothing else. Methods that the
// tests do not need are nil.
type oneActor struct {
	State
	actor record.Actor
}

func (s *oneActor) Actor(ids.Actor) (record.Actor, bool) { return s.actor, true }
func (s *oneActor) ActorsOf(record.ActorFilter) []record.Actor {
	return []record.Actor{s.actor}
}
func (s *oneActor) ListJobs() []record.Job   { return nil }
func (s *oneActor) ListNodes() []record.Node { return nil }
func (s *oneActor) ListGroups() []record.Group {
	return nil
}

// counter counts what it is asked to place.
type counter struct{ placed int }

func (c *counter) PlaceActor(record.Actor)         { c.placed++ }
func (c *counter) StopActor(record.Instance, Stop) {}

// noGroups is never asked for anything.
type noGroups struct{ GroupPlacer }

// Between two times as leader another head may have placed the actor and lost
// it: the placer is asked anew. While it leads on, it is asked once.
func TestFeed_LeadsAgain_PlacesAnew(t *testing.T) {
	p := &counter{}
	s := &oneActor{actor: actor('A', record.ActorPending, 1)}
	h := &Head{state: s, placer: p, tracker: newTracker(), groupRows: groupTracker{}}
	h.keyLeases = newKeyKeeper(h)
	for _, step := range []struct {
		leading bool
		want    int
	}{{false, 0}, {true, 1}, {true, 1}, {false, 1}, {true, 2}, {true, 2}} {
		h.events(record.Batch{Leading: step.leading, Events: []record.Event{{Actor: &s.actor}}})
		if p.placed != step.want {
			t.Fatalf("leading %v: placed %d times, want %d", step.leading, p.placed, step.want)
		}
		if h.acted != step.leading {
			t.Fatalf("leading %v: it acted as %v", step.leading, h.acted)
		}
	}
}
