package submit

import (
	"github.com/eagleray/eagleray/core/internal/refs"
)

// A finished task is kept for as long as a result of it lies in the store, so
// that the result can be computed again when the store has lost it: refs.Recipe
// says what is kept, and recompute.go how the task runs again. Results that
// travelled in the answer are in this process's memory and need nothing.

// remember keeps a task that has ended for the results that lie in the store; mu held.
func (c *Submitter) remember(t *Task) {
	var stored, late []*refs.Object
	r := t.recipe
	c.eachResult(t, func(o *refs.Object) {
		switch {
		case o.State() == refs.Stored:
			stored = append(stored, o)
		case r == nil && o.Verifying() && !runsAgain(o): // an item that is being looked for as its generator ends
			stored = append(stored, o)
		case r != nil && o.Recipe() == r && o.Lost(): // this was found while the task ran again
			late = append(late, o)
		case o.State().Ready() && o.Recipe() == r && r != nil:
			c.table.SetRecipe(o, nil)
		}
	})
	switch why := c.once(t); {
	case why != refs.Whole:
		if r != nil {
			c.table.DropRecipe(r, why)
			t.recipe = nil
		}
		for _, o := range stored { // no other run of a generator can make its items either: all share one budget
			c.table.SetRecipe(o, refs.NoRecipe(why))
		}
	case r != nil:
		c.table.Attach(r, stored)
		c.table.Finish(r)
	case len(stored) > 0:
		c.table.Record(c.recipe(t), stored)
	}
	for _, o := range stored {
		c.table.Recheck(o)
	}
	for _, o := range late {
		c.Recompute(o)
	}
	c.table.BoundLineage(c.Settings.Lineage.Limit, c.Settings.Lineage.Bytes)
}

// runsAgain reports whether the task that can make the object runs again at the moment.
func runsAgain(o *refs.Object) bool { return o.Recipe() != nil && o.Recipe().Running() }

// eachResult calls f with every result of a task that somebody still holds, also
// with those that the task does not make because it runs for others.
func (c *Submitter) eachResult(t *Task, f func(*refs.Object)) {
	for i := range t.Returns {
		if o := c.table.FindOwned(t.First + uint64(i)); o != nil {
			f(o)
		}
	}
	if t.Generator != nil {
		c.Generators.EachItem(t.Generator, f)
	}
}

// recipe makes a task one that is kept; mu held.
func (c *Submitter) recipe(t *Task) *refs.Recipe {
	t.recipe = c.recipeOf(t)
	return t.recipe
}

func (c *Submitter) recipeOf(t *Task) *refs.Recipe {
	t.Template.RecipeKept()
	return refs.NewRecipe(t, t.Owned(c.table))
}
