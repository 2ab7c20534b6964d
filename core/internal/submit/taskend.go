package submit

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// How a task ends: its results get a value or a failure, and what it held goes.

// eachReturn calls f with every return that somebody still holds and that the task makes.
func (c *Submitter) eachReturn(t *Task, f func(i int, o *refs.Object)) {
	for i := range t.Returns {
		if o := c.table.FindOwned(t.First + uint64(i)); o != nil && t.makes(o) {
			f(int(i), o)
		}
	}
	if t.Generator != nil {
		c.Generators.EachToCome(t.Generator, func(i uint64, o *refs.Object) { f(int(i)+1, o) })
	}
}

// leaveToOwn has only the generator's own object tell of a failure, if somebody still holds it: that object is the last
// one that a program which reads the items is given. The item that was to come next fails, too, and is never given; mu held.
func (c *Submitter) leaveToOwn(t *Task) {
	if t.Generator == nil || t.Generator.Second() || c.table.FindOwned(t.First) == nil {
		return
	}
	c.Generators.EachHead(t.Generator, func(_ uint64, o *refs.Object) { o.MarkSeen() })
}

// FailTask ends the task with a fault; mu held.
func (c *Submitter) FailTask(t *Task, f *fault.Error) {
	c.freeWritten(t)
	t.failed, t.why = true, templates.NewWhy(string(f.Code), f.Message)
	c.leaveToOwn(t)
	held := false
	c.eachReturn(t, func(_ int, o *refs.Object) {
		held = true
		c.table.Fail(o, f)
	})
	if !held {
		c.unheld(t, f)
	}
	c.endTask(t)
}

// whyOf says why a task has failed that takes an argument which is an error.
func whyOf(t *Task, dep *refs.Object, f *fault.Error) *templates.Why {
	if f != nil {
		return templates.NewWhy(string(f.Code), f.Message)
	}
	return raised(t, dep.Value())
}

// raised says which exception a task has raised. Value is the exception's envelope, nil if it lies in the store.
func raised(t *Task, value []byte) *templates.Why {
	text := t.Template.Name + " raised an exception, which lies in the object store"
	if value != nil {
		if f := envelope.FaultIn(value); f != nil {
			text = f.Message
		} else {
			text = envelope.ExceptionText(value, t.Template.Name)
		}
	}
	if t.Canceled { // what the task was interrupted with, or what it did about that
		return templates.NewWhy(string(fault.TaskCancelled), text)
	}
	return templates.NewWhy(wire.Raised, text)
}

// failLike ends the task as its argument ended.
func (c *Submitter) failLike(t *Task, dep *refs.Object) {
	t.failed = true
	var f *fault.Error
	if dep.State() == refs.Failed {
		named := *dep.Fault()
		if named.Task == "" {
			named.Task = t.Template.Name
		}
		f = &named
	}
	t.why = whyOf(t, dep, f)
	c.leaveToOwn(t)
	held := false
	c.eachReturn(t, func(_ int, o *refs.Object) {
		held = true
		if f != nil {
			c.table.Fail(o, f)
			return
		}
		c.table.FailAs(o, dep)
	})
	// The task took the argument, so the argument's failure counts as looked at: only the task can tell of it.
	switch {
	case held:
	case f != nil:
		c.unheld(t, f)
	case t.Returns > 0 && !t.Canceled:
		c.fx.NeverFetched(t.First, t.Template.Name, dep.Value(), dep.Size())
	}
	c.endTask(t)
}

// infeasible marks what the task returns; mu held.
func (c *Submitter) infeasible(t *Task, f *fault.Error) {
	held := false
	c.eachReturn(t, func(_ int, o *refs.Object) {
		held = true
		if o.State() == refs.Pending {
			c.table.Infeasible(o, f)
		}
	})
	if !held {
		c.unheld(t, f)
	}
}

// unheld tells of a failure of a task when nobody holds a result of it any more; mu held.
func (c *Submitter) unheld(t *Task, f *fault.Error) {
	if t.Returns > 0 && !t.Canceled {
		c.fx.Unheld(t.First, t.Template.Name, f)
	}
}

// endTask lets go of what the task held.
func (c *Submitter) endTask(t *Task) {
	if t.counted {
		t.counted = false
		c.ends(t)
		if c.Open--; c.Open == 0 && c.leaving {
			c.fx.LessNeeded()
		}
	}
	if t.Generator != nil {
		c.streamEnded(t)
	}
	if t.stored || t.recipe != nil {
		c.remember(t)
	}
	c.UnpinTask(t)
	if a := t.actor; a != nil {
		c.callEnded(a)
	}
	if t.Template.Retired() {
		c.dropTemplate(t.Template)
	}
}

// UnpinTask lets go of what a task takes. The arguments of a task that is kept for its results stay.
func (c *Submitter) UnpinTask(t *Task) { t.Unpin(c.table, t.recipe == nil) }

// cancelFault is what a cancelled task fails with.
func cancelFault(t *Task) *fault.Error {
	return fault.New(fault.TaskCancelled, "task %s was cancelled", t.Template.Name)
}

// callEnded is called once for each call that has its answer.
func (c *Submitter) callEnded(a *Actor) {
	a.Pending--
	a.CallEnded()
}

// Unsettled holds what a task took until its worker has registered what it keeps; mu held.
func (c *Submitter) Unsettled(t *Task, worker string) { c.table.Retain(worker, t.Objects()) }
