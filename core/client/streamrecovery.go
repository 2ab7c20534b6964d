package client

import (
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// An item of a generator may be lost while others are still to come. The program may
// take no more items until it has the lost one, so that one cannot wait for the
// generator's end. Therefore the generator runs a second time, beside the first run,
// for what is lost.

// yields notes that the items of a generator come from now on; mu held.
func (c *submitter) yields(t *task) {
	if c.yielding == nil {
		c.yielding = map[uint64]*task{}
	}
	c.yielding[t.first] = t
}

// yieldingOf returns the task that yields an item, nil if that task has ended, or if the object is no item.
func (c *submitter) yieldingOf(o *refs.Object) *task {
	i := uint64(o.ID.Index())
	if i < 2 || i > o.ID.Count() {
		return nil
	}
	return c.yielding[o.ID.Count()-(i-1)]
}

// recoverItem gives a lost item a recipe if its generator still runs and may run
// a second time. It gives none for an actor's generator that waits for its
// program to take items, because that call would keep a second one from ever
// beginning; mu held.
func (c *submitter) recoverItem(o *refs.Object) {
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

// streamAgain makes t a second run of a generator, for results that were lost. The
// run before may still go on; mu held.
func (c *submitter) streamAgain(t, before *task) {
	t.stream = &stream{gen: t.first, task: t, got: before.stream.came(), left: true, again: true, first: before.stream.root()}
}

// eachLost calls f with the items that a second run is to make anew.
func (c *submitter) eachLost(t *task, f func(i uint64, o *refs.Object)) {
	for i := range t.stream.came() {
		if o := c.table.FindOwned(t.first + 1 + i); o != nil && !o.State().Ready() && o.Source() == t {
			f(i, o)
		}
	}
}

// makesItems reports whether a second run has items to make.
func (c *submitter) makesItems(t *task) (any bool) {
	c.eachLost(t, func(uint64, *refs.Object) { any = true })
	return any
}

// raises reads the exception that a generator ends with, which is its item i. A run for lost items gives it to
// all that it has not made. The worker chose the first of these for it, and wrote it to the store under
// that item's id if it is large. The program may have let go of that item since: then the item's object comes
// back, and the others keep it alive for as long as they need its exception.
func (o *outConn) raises(t *task, i uint64, r *wire.Reader) (inner bool, err error) {
	c, s := o.c, t.stream
	if !s.again {
		return o.comes(t, i, r, true)
	}
	if c.table.FindOwned(s.gen+1+i) == nil && c.makesItems(t) {
		x := c.place(s, i)
		defer func() {
			c.table.Unpin(x)
			c.table.CarryOut()
		}()
	}
	if inner, err = o.comes(t, i, r, true); err == nil {
		c.lostFail(t, i)
	}
	return inner, err
}

// lostFail ends the items that a second run was to make, and has not, with the exception that it raised: its item i; mu held.
func (c *submitter) lostFail(t *task, i uint64) {
	if x := c.table.FindOwned(t.first + 1 + i); x != nil && x.IsError() && x.State().Ready() {
		c.eachLost(t, func(_ uint64, o *refs.Object) { c.table.FailAs(o, x) })
	}
}
