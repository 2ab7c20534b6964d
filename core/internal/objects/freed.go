package objects

// Processes keep objects pinned that they have looked at: workers for their next task
// (idle.go of core/internal/localstore), and every process for the next get of a reference
// that it holds. When the owner frees such an object these processes are told, so that
// the memory comes back after two messages.

// setFreed notes that the owner has freed the object, and tells the processes that
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

// tellFreed tells a process that has the object pinned that it was freed, if it was.
func (t *Table) tellFreed(c Holder, o *object) {
	if o.freed && t.notify != nil && !c.Gone() {
		t.notify.Freed(c, o.id)
	}
}
