package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/own"
)

// A task's small arguments travel in its message. Thousands of them do not fit
// in one: then those that are not tiny go to the arena first.

// tooMuch reports whether the task's arguments are too many bytes for one message.
func (c *Client) tooMuch(t *task) bool {
	n := 0
	for _, o := range t.deps {
		if o.State == own.Inline && promotable(o) {
			n += len(o.Value)
		}
	}
	return n > maxTogether
}

func promotable(o *own.Object) bool { return o.Owned() && !o.IsError && len(o.Value) > smallValue }

// moveArguments moves the arguments of a task to the arena and then starts it. The task has them pinned.
func (c *Client) moveArguments(t *task) {
	var err error
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limbo++
	defer func() { c.limbo-- }()
	deps := t.deps
	for _, o := range deps {
		if err != nil || c.closed || o.State != own.Inline || !promotable(o) {
			continue
		}
		value := o.Value
		c.mu.Unlock()
		err = c.storeEnvelope(o.ID, value)
		c.mu.Lock()
		if fault.CodeOf(err) == fault.AlreadyExists { // another task takes it, too
			err = nil
		}
		if err == nil {
			o.State = own.Stored // Value stays: somebody may be reading it
		}
	}
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
