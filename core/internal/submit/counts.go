package submit

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// What the session asks of the submitting half.

// Counts says how many entries the tables of the submitting half have.
type Counts struct {
	Classes, Templates, Shapes, Leases int
	ClassLeases                        int // for how many leases the lists of the classes have room
	Actors, Generators                 int
	Reported                           int // kinds of things that waited for long
	Delayed                            int // tasks that wait to be tried again
	Unfinished                         int // tasks without an answer
}

// Counts counts them; mu held.
func (c *Submitter) Counts() Counts {
	n := Counts{
		Classes: len(c.Classes), Templates: len(c.Templates), Shapes: c.Shapes(), Leases: len(c.Leases), Actors: len(c.Actors),
		Generators: c.Generators.Len(), Reported: len(c.Reported), Delayed: len(c.Delayed), Unfinished: c.Open,
	}
	for _, k := range c.Classes {
		n.ClassLeases += cap(k.Leases)
	}
	return n
}

// Unanswered returns how many calls are at workers and actors; mu held.
func (c *Submitter) Unanswered() (all, far int) { return c.Sent, c.sentFar }

// Unfinished returns how many tasks have no answer; mu held.
func (c *Submitter) Unfinished() int { return c.Open }

// Creating reports whether an actor's constructor may still ask for arguments
// that this process owns, or waits for them to be registered; mu held.
func (c *Submitter) Creating() bool {
	for _, a := range c.Actors {
		if a.NeedsCreator() {
			return true
		}
	}
	return false
}

// What the reference table says.

// ArgumentReady notes that an object is ready that a task waited for; mu held.
func (c *Submitter) ArgumentReady(t refs.Task) { c.depReady(TaskOf(t)) }

// ArgumentInfeasible notes that an object which a task waits for cannot be made for now; mu held.
func (c *Submitter) ArgumentInfeasible(t refs.Task, why *fault.Error) { c.infeasible(TaskOf(t), why) }

// SourceGone notes that an object has died which came from an actor or a task; mu held.
func (c *Submitter) SourceGone(s refs.Source, o *refs.Object) {
	switch s := s.(type) {
	case *Actor:
		s.HandlesGone()
	case *Task:
		if s.Generator != nil {
			c.unwanted(s, o)
		}
	}
}

// RecipeGone notes that a finished task is no longer kept; mu held.
func (c *Submitter) RecipeGone(t refs.Task) {
	tm := TaskOf(t).Template
	tm.RecipeGone()
	c.dropTemplate(tm)
}

// Siblings returns the results of the task that can make an object, this one among them; mu held.
func (c *Submitter) Siblings(o *refs.Object) (list []*refs.Object) {
	t := c.yieldingOf(o)
	if o.Recomputable() {
		t = TaskOf(o.Recipe().Task())
	}
	if t != nil {
		c.eachResult(t, func(x *refs.Object) { list = append(list, x) })
	}
	return list
}
