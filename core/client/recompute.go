package client

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
)

// recompute runs the task again that returned an object of ours, which is
// Pending because no copy of it is left. It does so for all lost results
// together, and once however many ask; mu held.
func (c *submitter) recompute(o *refs.Object) {
	if o.Recipe() == nil || o.Recipe().Why() == refs.Forgotten {
		c.recoverItem(o)
	}
	r := c.table.ToRecompute(o)
	if r == nil {
		if r = o.Recipe(); o.Lost() && r.Running() {
			if t := taskOf(r.Task()); t.on == nil {
				o.SetSource(t) // it has not been sent, so it can make this result, too
			}
		}
		return
	}
	old := taskOf(r.Task())
	v := c.judge(old, resultLost)
	if !v.again() { // another run of the generator has used its retries up since
		c.table.SetRecipe(o, refs.NoRecipe(v.whyLost()))
		c.table.FailUnrecoverable(o)
		return
	}
	if a := old.actor; a != nil {
		if f := c.unreachable(a); f != nil {
			c.table.Fail(o, f)
			return
		}
	}
	t := &task{
		tmpl: old.tmpl, first: old.first, returns: old.returns, fmt: old.fmt,
		args: old.args, argsRef: old.argsRef, actor: old.actor, recipe: r, aside: old.actor != nil,
	}
	c.table.Begin(r, t)
	if old.stream != nil {
		c.streamAgain(t, old)
	}
	t.spend(&v)
	c.takeAgain(t, old)
	c.eachResult(t, func(x *refs.Object) {
		if x.Lost() { // what else the daemon is being asked about may still have its copy
			x.SetSource(t)
		}
	})
	c.count(t)
	if a := t.actor; a != nil {
		a.pending++
		if a.token != nil {
			c.table.Pin(a.token)
		}
	}
	c.awaitArguments(t)
}

// makes reports whether the task, which runs, is to give the object its value. A
// run for lost results makes those that were lost when it began, and no others:
// another one may have been reported lost meanwhile, while its copy is there, and
// an item may be one that the first run of its generator is to yield.
func (t *task) makes(o *refs.Object) bool {
	second := t.recipe != nil || t.stream != nil && t.stream.again
	return !second || o.State().Ready() || o.Source() == t
}

// unreachable says why an actor takes no calls any more, nil if it does.
func (c *submitter) unreachable(a *actor) *fault.Error {
	switch {
	case a.dead != nil:
		return a.dead
	case c.actors[a.id] != a:
		return actorLeft(a.name, a.id)
	}
	return nil
}

func actorLeft(name string, id ids.Actor) *fault.Error {
	return fault.New(fault.ActorDied, "actor %s (%s) has ended: its last handle is gone; what its methods returned cannot be computed again", name, id)
}

// takeAgain gives a task that runs again what the run before took, pinned.
func (c *submitter) takeAgain(t, old *task) {
	if t.argsRef != nil {
		c.table.Pin(t.argsRef)
	}
	for _, o := range old.deps {
		if !o.Owned() {
			o = c.table.Borrow(o.ID, o.OwnerAddr())
		}
		c.table.Pin(o)
		t.deps = append(t.deps, o)
	}
	for _, o := range old.nested {
		switch {
		case !o.Owned():
			o = c.table.Borrow(o.ID, o.OwnerAddr())
		case c.table.Find(o.ID) != o:
			continue // an actor's token: the actor has ended
		}
		c.table.Pin(o)
		t.nested = append(t.nested, o)
	}
}

// awaitArguments starts a task, which is nowhere yet, when all that it takes is
// there; what of it lies in the store is looked for first; mu held.
func (c *submitter) awaitArguments(t *task) {
	takes := t.deps
	if t.argsRef != nil {
		takes = append(slices.Clone(takes), t.argsRef)
	}
	for _, o := range takes {
		switch {
		case !o.Owned() && o.State() == refs.Pending && !o.Asked():
			c.table.Ask(o, false)
		case o.Owned():
			c.table.VerifyCopy(o)
		}
		c.waitFor(t, o)
	}
	c.begin(t)
}

// waitFor makes the task wait for an argument that is not ready; mu held.
func (c *submitter) waitFor(t *task, o *refs.Object) {
	if !o.State().Ready() {
		t.waiting++
		c.table.WatchBy(o, t)
	}
}

// begin queues a task that waits for nothing any more; mu held.
func (c *submitter) begin(t *task) {
	switch {
	case t.waiting > 0:
		t.since = c.looks
		c.watchPending()
	case t.actor == nil:
		c.enqueue(t)
	default:
		// It goes into its actor's queue now, not before: what it takes may
		// be computed by calls of the same actor. And it goes to the front:
		// what is there may wait for what it computes.
		t.aside = false
		if a := t.actor; a.dead != nil {
			c.failCall(a, t)
		} else {
			a.queue.pushFront([]*task{t})
			c.pumpActor(a)
		}
	}
}
