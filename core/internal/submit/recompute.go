package submit

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
)

// Recompute runs the task again that returned an object of ours, which is
// Pending because no copy of it is left. It does so for all lost results
// together, and once however many ask; mu held.
func (c *Submitter) Recompute(o *refs.Object) {
	if o.Recipe() == nil || o.Recipe().Why() == refs.Forgotten {
		c.recoverItem(o)
	}
	r := c.table.ToRecompute(o)
	if r == nil {
		if r = o.Recipe(); o.Lost() && r.Running() {
			if t := TaskOf(r.Task()); t.on == nil {
				o.SetSource(t) // it has not been sent, so it can make this result, too
			}
		}
		return
	}
	old := TaskOf(r.Task())
	v := c.judge(old, retry.ResultLost)
	if !v.Again() { // another run of the generator has used its retries up since
		c.table.SetRecipe(o, refs.NoRecipe(whyLost(&v)))
		c.table.FailUnrecoverable(o)
		return
	}
	a := c.rowAgain(old.actor)
	if a != nil {
		if f := unreachable(a); f != nil {
			c.table.Fail(o, f)
			return
		}
	}
	t := &Task{
		Template: old.Template, First: old.First, Returns: old.Returns, fmt: old.fmt,
		actor: a, recipe: r, aside: a != nil,
	}
	c.table.Begin(r, t)
	if old.Generator != nil {
		t.Generator = generators.Again(t, old.Generator)
	}
	t.spend(&v)
	t.Arguments = old.Again(c.table)
	c.eachResult(t, func(x *refs.Object) {
		if x.Lost() { // what else the daemon is being asked about may still have its copy
			x.SetSource(t)
		}
	})
	c.Count(t)
	if a != nil {
		a.Pending++
		a.HoldCall()
	}
	c.awaitArguments(t)
}

// rowAgain returns the row for a call that runs again. An actor without a token lives on when this process has no
// handle of it any more, so it gets a new row if its row was forgotten; mu held.
func (c *Submitter) rowAgain(a *Actor) *Actor {
	if a == nil || !a.Forgotten() || a.Token() != nil || a.Dead() != nil {
		return a
	}
	b := c.OpenActor(a.ID, a.Name(), a.limit)
	b.grouped = b.grouped || a.grouped
	return b
}

// unreachable says why an actor takes no calls any more, nil if it does.
func unreachable(a *Actor) *fault.Error {
	switch {
	case a.Dead() != nil:
		return a.Dead()
	case a.Forgotten():
		return actors.HandleGone(a.Name(), a.ID)
	}
	return nil
}

// awaitArguments starts a task, which is nowhere yet, when all that it takes is
// there; what of it lies in the store is looked for first; mu held.
func (c *Submitter) awaitArguments(t *Task) {
	for _, o := range t.Awaited() {
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
func (c *Submitter) waitFor(t *Task, o *refs.Object) {
	if !o.State().Ready() {
		t.Waiting++
		c.table.WatchBy(o, t)
	}
}

// begin queues a task that waits for nothing any more; mu held.
func (c *Submitter) begin(t *Task) {
	switch {
	case t.Waiting > 0:
		t.Since = c.Looks
		c.watchPending()
	case t.actor == nil:
		c.Enqueue(t)
	default:
		// It goes into its actor's queue now, not before: what it takes may
		// be computed by calls of the same actor. And it goes to the front:
		// what is there may wait for what it computes.
		t.aside = false
		if a := t.actor; a.Dead() != nil {
			c.failCall(a, t)
		} else {
			a.Queue.pushFront([]*Task{t})
			c.pumpActor(a)
		}
	}
}
