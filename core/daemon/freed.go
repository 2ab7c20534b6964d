package daemon

// Workers keep what they have looked at pinned for their next task (idleview.go of
// core/client). When its owner lets go of it they are told, so that the memory comes
// back in the time of two messages.

// setFreed notes that the owner has let go of the object, and tells the workers that
// have it pinned. By is who says so: it knows.
func (t *objects) setFreed(o *object, by *client) {
	if !o.freed {
		o.freed = true
		left := o.pins
		for c, h := range t.holders {
			if left == 0 {
				break
			}
			if h.pins[o.id] == o {
				left--
				if c != by {
					t.tellFreed(c, o)
				}
			}
		}
	}
	t.release(o)
}

// tellFreed says to a worker that has the object pinned that it was freed, if it was.
func (t *objects) tellFreed(c *client, o *object) {
	if o.freed && t.mover != nil && c.worker != nil && !c.gone {
		t.mover.freed(c, o)
	}
}
