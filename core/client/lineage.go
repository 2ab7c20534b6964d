package client

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/eagleray/eagleray/core/refs"
)

// A finished task is kept for as long as a result of it lies in the store, so
// that the result can be computed again when the store has lost it: refs.Recipe
// says what is kept, and recompute.go how the task runs again. Results that
// travelled in the answer are in this process's memory and need nothing.

// defaultLineageBytes bounds the memory of the finished tasks that a process keeps.
const defaultLineageBytes = 1 << 30

// lineageShare is the part of the store that values may take which only lineage
// holds. Those are values that put made, or that were passed as large arguments,
// so they cannot be computed again.
const lineageShare = 4

// lineage says what may be kept to compute lost objects again.
type lineage struct {
	off   bool
	limit uint64 // bytes of recipes
	bytes uint64 // most bytes of values that only recipes hold
}

func (c *Client) newLineage(arena uint64) lineage {
	l := lineage{limit: defaultLineageBytes}
	if v, ok := c.setting("max_lineage_bytes"); ok {
		n, err := strconv.ParseUint(v, 10, 63)
		if err != nil {
			fmt.Fprintf(os.Stderr, "eagleray: RAY_max_lineage_bytes=%q is not a number of bytes: the default, %d, holds\n", v, l.limit)
		} else {
			l.limit = n
		}
	}
	v, _ := c.setting("lineage_pinning_enabled")
	l.off = slices.Contains([]string{"0", "false", "False"}, v)
	l.bytes = min(l.limit, arena/lineageShare)
	return l
}

// remember keeps a task that has ended for the results that lie in the store; mu held.
func (c *submitter) remember(t *task) {
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
		c.recompute(o)
	}
	c.table.BoundLineage(c.lineage.limit, c.lineage.bytes)
}

// runsAgain reports whether the task that can make the object runs again at the moment.
func runsAgain(o *refs.Object) bool { return o.Recipe() != nil && o.Recipe().Running() }

// eachResult calls f with every result of a task that somebody still holds, also
// with those that the task does not make because it runs for others.
func (c *submitter) eachResult(t *task, f func(*refs.Object)) {
	for i := range t.returns {
		if o := c.table.FindOwned(t.first + uint64(i)); o != nil {
			f(o)
		}
	}
	if t.stream != nil {
		c.eachItem(t, f)
	}
}

// recipe makes a task one that is kept; mu held.
func (c *submitter) recipe(t *task) *refs.Recipe {
	t.recipe = c.recipeOf(t)
	return t.recipe
}

func (c *submitter) recipeOf(t *task) *refs.Recipe {
	t.tmpl.recipes++
	return refs.NewRecipe(t, c.needs(t))
}

// needs are the objects of ours that a task takes. What others own is asked for
// again; an actor lives as long as there are handles, not longer.
func (c *submitter) needs(t *task) []*refs.Object {
	var list []*refs.Object
	add := func(o *refs.Object) {
		if o.Owned() && !o.IsToken() && c.table.Find(o.ID) == o {
			list = append(list, o)
		}
	}
	for _, o := range t.deps {
		add(o)
	}
	for _, o := range t.nested {
		add(o)
	}
	if t.argsRef != nil {
		add(t.argsRef)
	}
	return list
}
