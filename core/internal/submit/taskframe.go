package submit

import (
	"github.com/eagleray/eagleray/core/internal/frame"
)

// The frames of tasks.

// AppendTask encodes the task's frame, to run as tm says.
func (c *Submitter) AppendTask(b []byte, t *Task, tm *Template) []byte {
	b, at := frame.BeginTask(b, t.Seq, uint64(tm.ID), t.First, t.Generator != nil || t.recipe != nil)
	b = t.Arguments.AppendTask(b, c.table)
	switch {
	case t.Generator != nil:
		x := c.Generators.Resume(t.Generator)
		b = frame.AppendResume(b, &x)
	case t.recipe != nil:
		b = c.appendHad(b, t)
	}
	return frame.End(b, at)
}

// appendHad encodes which results of a task that runs again are there, or wanted no more; mu held.
func (c *Submitter) appendHad(b []byte, t *Task) []byte {
	var had []int
	for i := range int(t.Returns) {
		if o := c.table.FindOwned(t.First + uint64(i)); o == nil || o.State().Ready() || !t.makes(o) {
			had = append(had, i)
		}
	}
	return frame.AppendHad(b, had)
}
