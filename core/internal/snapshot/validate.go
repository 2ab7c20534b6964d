package snapshot

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// mostRestored bounds how many results and items all tasks of a snapshot may have together.
const mostRestored = 1 << 24

// Validate refuses a snapshot that no Submitter can have written, or that has another
// version. It does not know which objects there are: Restore finds them in the table.
func (s *Submitter) Validate() error {
	if s.Version != Version {
		return fmt.Errorf("the tasks are a snapshot of version %d, and this process reads version %d", s.Version, Version)
	}
	for i := range s.Templates {
		if err := s.Templates[i].validate(); err != nil {
			return err
		}
	}
	results := uint64(0)
	for i := range s.Tasks {
		if err := s.Tasks[i].validate(&results); err != nil {
			return fmt.Errorf("task %d: %w", i, err)
		}
		if n := s.Tasks[i].Template; n < 0 || n >= len(s.Templates) {
			return fmt.Errorf("task %d is of template %d, of %d", i, n, len(s.Templates))
		}
	}
	actors := map[ids.Actor]bool{}
	for i := range s.Actors {
		if err := s.Actors[i].validate(&results, actors); err != nil {
			return err
		}
	}
	for i := range s.Recipes {
		if err := s.Recipes[i].validate(s); err != nil {
			return err
		}
	}
	return s.validatePlaces(actors)
}

func (x *Template) validate() error {
	if x.Kind != frame.KindTask && x.Kind != frame.KindMethod {
		return fmt.Errorf("template %s is of kind %d, which does not exist", x.Name, x.Kind)
	}
	if len(x.Fallback) > wire.MaxAlternatives {
		return fmt.Errorf("template %s has %d alternatives, at most %d are possible", x.Name, len(x.Fallback), wire.MaxAlternatives)
	}
	for i := range x.Fallback {
		if len(x.Fallback[i].Fallback) > 0 {
			return fmt.Errorf("an alternative of template %s has alternatives", x.Name)
		}
	}
	return nil
}

// validate refuses numbers that nothing can have come to. Results is the sum over all tasks so far.
func (x *Task) validate(results *uint64) error {
	switch {
	case x.Returns < 0 || x.Items > mostRestored:
		return fmt.Errorf("it has %d results and %d items", x.Returns, x.Items)
	case x.Ahead > 2*mostRestored:
		return fmt.Errorf("a reference to its item %d was asked for", x.Ahead)
	case x.Place > PlaceLost:
		return fmt.Errorf("it is at place %d, which does not exist", x.Place)
	case len(x.Aside) != 0 && len(x.Aside) != ids.ActorSize:
		return fmt.Errorf("it is a call of an actor whose id has %d bytes", len(x.Aside))
	}
	if *results += uint64(x.Returns) + x.Items; *results > mostRestored {
		return fmt.Errorf("the tasks have more than %d results", mostRestored)
	}
	return nil
}

func (x *Actor) validate(results *uint64, seen map[ids.Actor]bool) error {
	if len(x.ID) != ids.ActorSize {
		return fmt.Errorf("the id of an actor has %d bytes", len(x.ID))
	}
	id := ids.Actor(x.ID)
	if seen[id] {
		return fmt.Errorf("actor %s occurs twice", id)
	}
	seen[id] = true
	if b := x.Creation; b != nil {
		if b.Template.Kind != frame.KindTask {
			return fmt.Errorf("the constructor of actor %s has a template of kind %d", id, b.Template.Kind)
		}
		if err := b.Template.validate(); err != nil {
			return err
		}
		if err := b.Task.validate(results); err != nil {
			return fmt.Errorf("the constructor of actor %s: %w", id, err)
		}
	}
	return nil
}

func (x *Recipe) validate(s *Submitter) error {
	switch {
	case x.Again >= len(s.Tasks):
		return fmt.Errorf("task %d, of %d, runs again", x.Again, len(s.Tasks))
	case x.Again >= 0:
		return nil
	case x.Task.Template < 0 || x.Task.Template >= len(s.Templates):
		return fmt.Errorf("a finished task is of template %d, of %d", x.Task.Template, len(s.Templates))
	case len(x.Actor) != 0 && len(x.Actor) != ids.ActorSize:
		return fmt.Errorf("a finished task is a call of an actor whose id has %d bytes", len(x.Actor))
	}
	var results uint64 // of this task: those of all finished ones may be more than tasks without an answer can have
	if err := x.Task.validate(&results); err != nil {
		return fmt.Errorf("a finished task: %w", err)
	}
	return nil
}

// validatePlaces refuses tasks that are where they cannot be: at two places, two
// under one number of a channel, or a method's call without an actor, which no scheduling class would take.
func (s *Submitter) validatePlaces(actors map[ids.Actor]bool) error {
	const (
		somewhere = 1 << iota
		ofActor
	)
	at := make([]uint8, len(s.Tasks))
	put := func(tasks []int, place uint8) error {
		for _, n := range tasks {
			if n < 0 || n >= len(at) {
				return fmt.Errorf("there is no task %d, of %d", n, len(at))
			}
			if at[n] != 0 {
				return fmt.Errorf("task %d is at two places", n)
			}
			at[n] = place
		}
		return nil
	}
	for i := range s.Actors {
		if err := put(s.Actors[i].Calls, somewhere|ofActor); err != nil {
			return err
		}
	}
	leases := map[uint64]bool{}
	for i := range s.Channels {
		x := &s.Channels[i]
		if len(x.Filled) > frame.MaxGroups+2 {
			return fmt.Errorf("%d concurrency groups of the actor at %s are held, at most %d are possible", len(x.Filled), x.Addr, frame.MaxGroups+2)
		}
		place := uint8(somewhere)
		if n := len(x.ActorID); n > 0 {
			if n != ids.ActorSize || !actors[ids.Actor(x.ActorID)] {
				return fmt.Errorf("the channel to %s leads to actor %x, which is not part of the snapshot", x.Addr, x.ActorID)
			}
			place |= ofActor
		} else if leases[x.LeaseID] {
			return fmt.Errorf("lease %d has two channels", x.LeaseID)
		} else {
			leases[x.LeaseID] = true
		}
		if err := put(x.Tasks, place); err != nil {
			return err
		}
		seen := map[uint32]bool{}
		for _, n := range x.Tasks {
			seq := s.Tasks[n].Seq
			if seen[seq] {
				return fmt.Errorf("two calls on the channel to %s have number %d", x.Addr, seq)
			}
			seen[seq] = true
		}
	}
	for i := range s.Lost {
		x := &s.Lost[i]
		if leases[x.LeaseID] {
			return fmt.Errorf("lease %d, whose worker has ended, occurs twice", x.LeaseID)
		}
		leases[x.LeaseID] = true
		if err := put(x.Tasks, somewhere); err != nil {
			return err
		}
	}
	for i := range s.Tasks {
		x := &s.Tasks[i]
		call := at[i]&ofActor != 0 || len(x.Aside) > 0
		if call != (s.Templates[x.Template].Kind == frame.KindMethod) {
			return fmt.Errorf("task %d is another kind of task than its template says", i)
		}
	}
	return nil
}
