package submit

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/arguments"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
)

// The finished tasks of a snapshot, which can run again for their results, and the
// runs of generators.

// recipes restores the finished tasks and records which results they make. Calls that
// run again and are not in their actor's queue yet find their actor.
func (r *Restored) recipes() error {
	c := r.c
	for i, t := range r.tasks {
		if id := r.s.Tasks[i].Aside; len(id) > 0 {
			r.call(r.actorOf(id), t)
		}
	}
	for i := range r.s.Recipes {
		x := &r.s.Recipes[i]
		results, err := c.table.Named(x.Results)
		if err != nil {
			return fmt.Errorf("restore the results of a finished task: %w", err)
		}
		t, err := r.finished(x)
		if err != nil {
			return fmt.Errorf("restore a finished task: %w", err)
		}
		y := c.recipe(t)
		c.table.Record(y, results)
		if x.Again >= 0 {
			c.table.Begin(y, t)
		}
	}
	return nil
}

// finished returns the task of a recipe.
func (r *Restored) finished(x *snapshot.Recipe) (t *Task, err error) {
	if x.Again >= 0 {
		return r.tasks[x.Again], nil
	}
	t = taskWithout(&x.Task, r.tms[x.Task.Template])
	if t.Template.Flow.Mode != 0 {
		t.Generator = generators.Finished(t.First, x.Task.Items)
	}
	if len(x.Actor) > 0 {
		t.actor = r.actorOf(x.Actor)
	}
	t.Arguments, err = arguments.RestoreFinished(x, r.c.table)
	return t, err
}

// actorOf returns an actor of the snapshot, or one that cannot be called, because nobody has a handle of it.
func (r *Restored) actorOf(raw []byte) *Actor {
	id := ids.Actor(raw)
	if a := r.c.Actors[id]; a != nil {
		return a
	}
	a := &Actor{c: r.c}
	r.c.actors.Add(&a.Actor, a, id, "of a process that has ended")
	a.Die(actors.HandleGone(id.String(), id), nil)
	return a
}

// joinRuns makes the runs of one generator know each other.
func (r *Restored) joinRuns() {
	var runs []*generators.Generator
	add := func(t *Task) {
		if t.Generator != nil {
			t.Generator.SetTried(t.Tries)
			runs = append(runs, t.Generator)
		}
	}
	for _, t := range r.tasks {
		add(t)
	}
	r.c.table.Recipes(func(y *refs.Recipe) { add(TaskOf(y.Task())) })
	generators.JoinRuns(runs)
}
