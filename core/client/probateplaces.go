package client

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
)

// checkPlaces refuses tasks that are where they cannot be: at two places, or a
// method's call without an actor, which no scheduling class would take.
func (w *will) checkPlaces() error {
	for i := range w.Templates {
		t := &w.Templates[i]
		if t.Kind != KindTask && t.Kind != KindMethod {
			return fmt.Errorf("a template of kind %d is handed over", t.Kind)
		}
		for _, o := range t.Fallback {
			if o == nil {
				return fmt.Errorf("template %d is handed over with an alternative that is none", i)
			}
		}
	}
	const (
		somewhere = 1 << iota
		ofActor
	)
	at := make([]uint8, len(w.Tasks))
	put := func(tasks []int, place uint8) error {
		for _, n := range tasks {
			if n < 0 || n >= len(at) {
				return fmt.Errorf("task %d, of %d, is handed over", n, len(at))
			}
			if at[n] != 0 {
				return fmt.Errorf("task %d is handed over at two places", n)
			}
			at[n] = place
		}
		return nil
	}
	actors := map[ids.Actor]bool{}
	for i := range w.Actors {
		x := &w.Actors[i]
		id := ids.Actor(x.ID)
		if actors[id] {
			return fmt.Errorf("actor %s is handed over twice", id)
		}
		actors[id] = true
		if x.Birth != nil && x.Birth.Template.Kind != KindTask {
			return fmt.Errorf("a constructor with a template of kind %d is handed over", x.Birth.Template.Kind)
		}
		if err := put(x.Calls, somewhere|ofActor); err != nil {
			return err
		}
	}
	for i := range w.Conns {
		place := uint8(somewhere)
		if len(w.Conns[i].ActorID) > 0 {
			place |= ofActor
		}
		if err := put(w.Conns[i].Tasks, place); err != nil {
			return err
		}
	}
	for i := range w.Tasks {
		x := &w.Tasks[i]
		if x.Template < 0 || x.Template >= len(w.Templates) {
			return fmt.Errorf("a task of template %d, of %d, is handed over", x.Template, len(w.Templates))
		}
		calls := at[i]&ofActor != 0 || len(x.Aside) > 0
		if calls != (w.Templates[x.Template].Kind == KindMethod) {
			return fmt.Errorf("task %d is handed over as another kind of task than its template says", i)
		}
		if n := len(x.Aside); n != 0 && n != ids.ActorSize {
			return fmt.Errorf("a call of an actor with an id of %d bytes is handed over", n)
		}
	}
	return nil
}
