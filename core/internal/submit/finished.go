package submit

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// ends notes the end of a task. Every task comes here, so it reads no clock and allocates nothing.
func (c *Submitter) ends(t *Task) {
	var actor *ids.Actor
	if t.actor != nil {
		actor = &t.actor.ID
	}
	failed := t.failed || t.why != nil // a generator's last item may be an exception
	c.Endings.Add(t.First, t.Template, actor, t.Tries, failed, t.why)
	if t.Template.Ended(failed) {
		c.lastEnded(t.Template)
	}
}

// become gives a task another template.
func (t *Task) become(tm *Template) {
	if t.counted {
		t.Template.Open--
		tm.Submitted()
	}
	if t.recipe != nil {
		t.Template.RecipeGone()
		tm.RecipeKept()
	}
	t.Template = tm
}

// CountEnded adds the tasks that have ended to a census, the latest one first.
func (c *Submitter) CountEnded(t *wire.ProcessCensus, limit int) {
	c.AddEnded(t, limit, func(first uint64) ids.Task { return (&Task{First: first}).ID(c) })
}
