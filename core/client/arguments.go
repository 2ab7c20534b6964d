package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/refs"
)

// A task's small arguments travel in its message. Thousands of them do not fit
// in one: then those that are not tiny go to the arena first.

// tooMuch reports whether the task's arguments are too many bytes for one message.
func (t *task) tooMuch() bool {
	n := 0
	for _, o := range t.deps {
		if o.State() == refs.Inline && promotable(o) {
			n += len(o.Value())
		}
	}
	return n > maxTogether
}

func promotable(o *refs.Object) bool { return o.Owned() && !o.IsError() && len(o.Value()) > smallValue }

// promote moves the arguments of a task to the arena and then starts it. The task has them pinned.
func (c *submitter) promote(t *task) {
	c.limbo++
	var list []*refs.Object
	seen := map[*refs.Object]bool{} // one that comes twice moves once
	for _, o := range t.deps {
		if o.State() == refs.Inline && promotable(o) && !seen[o] {
			seen[o] = true
			list = append(list, o)
		}
	}
	c.fx.Promote(t, list)
}

// promoted: the arguments of a task are in the arena, or could not be moved there.
func (c *submitter) promoted(t *task, err error) {
	c.limbo--
	switch {
	case c.closed || t.canceled: // whoever cancelled it has failed it
	case err != nil:
		c.failTask(t, fault.From(err))
	case t.actor != nil:
		t.waiting--
		c.pumpActor(t.actor)
	default:
		c.enqueue(t)
	}
}
