package submit

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// NewTemplate registers a template, until it is retired, and returns its number; mu held.
func (c *Submitter) NewTemplate(t *Template) (int, error) {
	if err := t.Check(); err != nil {
		return 0, err
	}
	c.addTemplate(t)
	return t.ID, nil
}

// addTemplate gives the template its number and class, in order; mu held.
func (c *Submitter) addTemplate(t *Template) {
	c.AddTemplate(t, c.fx.Maker)
	if t.Kind == frame.KindTask {
		t.Class = c.ClassFor(t)
		t.Class.Templates++
	}
}

// NewCall makes a task of a template, which has no arguments and no returns yet: SetArguments,
// SetStoredArguments, AddDependency and AddNested give it the former, MakeReturns the latter.
func (c *Submitter) NewCall(tm *Template, format uint8, parent uint64) *Task {
	return &Task{Template: tm, Returns: int32(tm.Returns), fmt: format, parent: parent}
}

// ReturnsOf returns the id of a task's first return, and how many there are. The ids of the others follow.
func (c *Submitter) ReturnsOf(t *Task) (first ids.Object, n int) {
	return ids.NewObject(t.First, c.Self, c.Job, 1), int(t.Returns)
}

// Submit starts a task.
func (c *Submitter) Submit(t *Task) {
	c.Count(t)
	if t.Waiting == 0 {
		c.Enqueue(t)
	}
}

// TemplateOf returns a template of the session; mu held.
func (c *Submitter) TemplateOf(id int) (*Template, error) {
	if c.closed {
		return nil, c.why
	}
	t := c.TemplateAt(id)
	if t == nil {
		return nil, fault.New(fault.BadRequest, "template %d does not exist in this session", id)
	}
	return t, nil
}

// MakeReturns gives a task, which has its arguments, its returns. The program gets a reference to each.
func (c *Submitter) MakeReturns(t *Task, site uint32) {
	t.First = c.table.Peek()
	for i := range t.Returns {
		o := c.table.New(uint32(i+1), 1)
		o.SetSource(t)
		o.SetOrigin(site, t.Template.Maker())
	}
	if t.Template.Flow.Mode != 0 {
		t.Generator = c.Generators.New(t, t.First, t.Template.Flow.Mode)
	}
	var bad *fault.Error
	for _, o := range t.Dependencies() {
		switch {
		case o.State() == refs.Pending:
			t.Waiting++
			c.table.WatchBy(o, t)
		case o.State() == refs.Infeasible:
			t.Waiting++
			c.table.WatchBy(o, t)
			bad = o.Fault()
		}
	}
	if bad != nil {
		c.infeasible(t, bad)
	}
	if t.Waiting > 0 {
		t.Since = c.Looks
		c.watchPending()
	}
	t.stampQueued(c)
}

// depReady is called once for each argument that the task waited for.
func (c *Submitter) depReady(t *Task) {
	t.Waiting--
	if t.Waiting > 0 || t.Canceled {
		return
	}
	switch {
	case t.aside:
		c.begin(t)
		return
	case t.actor != nil:
		c.callReady(t)
		return
	}
	c.eachReturn(t, func(_ int, o *refs.Object) { c.table.Feasible(o) })
	c.Enqueue(t)
}

// Promoted: the arguments of a task are in the arena, or could not be moved there.
func (c *Submitter) Promoted(t *Task, err error) {
	c.Unqueued--
	t.moving = false
	switch {
	case c.closed || t.Canceled: // whoever cancelled it has failed it
	case err != nil:
		c.FailTask(t, fault.From(err))
	case t.actor != nil:
		t.Waiting--
		c.pumpActor(t.actor)
	default:
		c.Enqueue(t)
	}
}

// restoreTemplate is addTemplate for a template that has its number, and whose class has
// the number that it had in another process. The program that called the template has ended; mu held.
func (c *Submitter) restoreTemplate(t *Template, class uint32) error {
	if err := c.RestoreTemplate(t, c.fx.Maker); err != nil || t.Kind != frame.KindTask {
		return err
	}
	key := t.ClassKey()
	if k := c.ByClass[key]; k != nil {
		t.Class = k
	} else if c.Classes[class] != nil {
		return fault.New(fault.BadRequest, "class %d of %s was handed over twice", class, t.Name)
	} else {
		t.Class = c.DefineClass(class, key, t)
	}
	t.Class.Templates++
	return nil
}
