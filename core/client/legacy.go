package client

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
)

// Lineage in wills: the finished tasks that are kept go to the heir, with those
// that run again; what was being looked for it looks for again.

// recipes writes them down: first those that may be evicted, from the oldest.
func (v *inventory) recipes() {
	results := map[*refs.Recipe][][]byte{}
	var list []*refs.Recipe
	v.c.table.Recipes(func(r *refs.Recipe) { list = append(list, r) })
	v.c.table.Each(func(o *refs.Object) bool {
		if r := o.Recipe(); o.Recomputable() {
			if results[r] == nil && r.Running() {
				list = append(list, r)
			}
			results[r] = append(results[r], raw(o.ID))
		}
		return true
	})
	for _, r := range list {
		t := taskOf(r.Task())
		x := willRecipe{Again: -1, Results: results[r]}
		if r.Running() {
			x.Again = v.task(t, taskWaits) // written already, wherever it is
		} else {
			x.Task, x.Deps, x.Nested = v.complete(t, taskSent), refsOf(t.deps), refsOf(t.nested)
			x.Task.Deps, x.Task.Nested = nil, nil
			if t.actor != nil {
				x.Actor = append([]byte(nil), t.actor.id[:]...)
			}
		}
		v.w.Recipes = append(v.w.Recipes, x)
	}
}

func refsOf(list []*refs.Object) (out []willRef) {
	for _, o := range list {
		out = append(out, willRef{raw(o.ID), o.OwnerAddr()})
	}
	return out
}

// recipes makes them as they were.
func (h *heir) recipes() error {
	c := h.c
	for i, t := range h.tasks {
		if id := h.w.Tasks[i].Aside; len(id) == len(ids.Actor{}) {
			h.call(h.actor(ids.Actor(id)), t)
		}
	}
	for i := range h.w.Recipes {
		x := &h.w.Recipes[i]
		results, err := h.found(x.Results)
		if err != nil {
			return err
		}
		t, err := h.kept(x)
		if err != nil {
			return err
		}
		r := c.recipe(t)
		c.table.Record(r, results)
		if x.Again >= 0 {
			c.table.Begin(r, t)
		}
	}
	return nil
}

// joinRuns makes the runs of one generator know each other, as they did in the process
// where they began: they share a budget of retries, and a run for lost items knows what the first one has yielded since.
func (h *heir) joinRuns() {
	runs := map[uint64][]*stream{} // by the generator
	add := func(t *task) {
		if s := t.stream; s != nil {
			s.tries = t.tries
			runs[s.gen] = append(runs[s.gen], s)
		}
	}
	for _, t := range h.tasks {
		add(t)
	}
	h.c.table.Recipes(func(r *refs.Recipe) { add(taskOf(r.Task())) })
	for _, list := range runs {
		root := list[0]
		for _, s := range list {
			if s.task != nil && !s.again {
				root = s // the first run, which may still yield
			}
		}
		for _, s := range list {
			if s != root {
				s.first, root.tries = root, max(root.tries, s.tries)
			}
		}
	}
}

// kept is the task of a recipe.
func (h *heir) kept(x *willRecipe) (*task, error) {
	if x.Again >= 0 {
		if x.Again >= len(h.tasks) {
			return nil, fmt.Errorf("task %d, of %d, was handed over to run again", x.Again, len(h.tasks))
		}
		return h.tasks[x.Again], nil
	}
	y := &x.Task
	if y.Template < 0 || y.Template >= len(h.w.Templates) {
		return nil, fmt.Errorf("a finished task of template %d, of %d, was handed over", y.Template, len(h.w.Templates))
	}
	t := &task{tmpl: &h.w.Templates[y.Template], first: y.First, returns: y.Returns, attempts: attemptsOf(y), fmt: y.Fmt, args: y.Args}
	if t.tmpl.Flow.Mode != 0 {
		t.stream = &stream{gen: t.first, got: y.Items, left: true}
	}
	if len(x.Actor) == len(ids.Actor{}) {
		t.actor = h.actor(ids.Actor(x.Actor))
	}
	var err error
	if t.deps, err = h.mentioned(x.Deps); err == nil {
		t.nested, err = h.mentioned(x.Nested)
	}
	if err == nil && len(y.ArgsRef) > 0 {
		var l []*refs.Object
		if l, err = h.found([][]byte{y.ArgsRef}); err == nil {
			t.argsRef = l[0]
		}
	}
	return t, err
}

// actor returns an actor that was handed over, or one that cannot be called: nobody has a handle of it.
func (h *heir) actor(id ids.Actor) *actor {
	if a := h.c.actors[id]; a != nil {
		return a
	}
	return &actor{id: id, name: "of a process that has ended", dead: actorLeft(id.String(), id)}
}

// mentioned returns objects that the table may not have.
func (h *heir) mentioned(list []willRef) (out []*refs.Object, err error) {
	for _, x := range list {
		id, err := ids.ParseObject(x.ID)
		if err != nil {
			return nil, err
		}
		o := h.c.table.Find(id)
		if o == nil {
			o = refs.Known(id, refs.Facts{OwnerAddr: x.Addr})
		}
		out = append(out, o)
	}
	return out, nil
}
