package client

import "github.com/eagleray/eagleray/core/refs"

// An item of a generator may be lost while others are still to come. Its program
// may take no more of them until it has that one, so it cannot wait for the end:
// the generator runs a second time, beside the first run, for what is lost.

// yields notes that items of a generator come from now on; mu held.
func (c *submitter) yields(t *task) {
	if c.yielding == nil {
		c.yielding = map[uint64]*task{}
	}
	c.yielding[t.first] = t
}

// yieldingOf returns the task that yields an item, nil if it has ended, or if it is none.
func (c *submitter) yieldingOf(o *refs.Object) *task {
	i := uint64(o.ID.Index())
	if i < 2 || i > o.ID.Count() {
		return nil
	}
	return c.yielding[o.ID.Count()-(i-1)]
}

// amid gives a lost item a recipe if its generator still runs and may run once
// more. A call of an actor's that waits for its program to take items would
// keep a second one from ever beginning; mu held.
func (c *submitter) amid(o *refs.Object) {
	t := c.yieldingOf(o)
	if t == nil || t.actor != nil && t.tmpl.Flow.Limit > 0 {
		return
	}
	if why := c.once(t); why != refs.Whole {
		c.table.SetRecipe(o, refs.NoRecipe(why))
		return
	}
	c.table.Record(c.recipeOf(t), []*refs.Object{o})
}
