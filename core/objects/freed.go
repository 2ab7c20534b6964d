package objects

// Workers keep objects pinned that their tasks have looked at, for their next task
// (idleview.go of core/client). When the owner frees such an object the workers are
// told, so that the memory comes back after two messages.

// setFreed notes that the owner has freed the object, and tells the workers that
// have it pinned. By is the process that freed it; it is not told.
func (t *Table) setFreed(o *object, by Holder) {
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

// tellFreed tells a worker that has the object pinned that it was freed, if it was.
func (t *Table) tellFreed(c Holder, o *object) {
	if o.freed && t.notify != nil && c.KeepsIdleViews() && !c.Gone() {
		t.notify.Freed(c, o.id)
	}
}
