package objects

import "github.com/eagleray/eagleray/core/ids"

// Free says that the owner has no reference to the object any more. From the
// process that creates the object it says that the object will not be written.
func (t *Table) Free(c Holder, id ids.Object) {
	o := t.table[id]
	if r := t.creation(c, id); r != nil {
		t.cancel(r)
	}
	switch {
	case o == nil:
	case !o.sealed && o.creator == c:
		t.abandon(o, "it was not written")
		delete(t.holder(c).creating, o)
	default:
		t.setFreed(o, c)
	}
	t.pump()
}

// DropHolder forgets what a process that is gone held and created, and frees what
// it owned. The pins of the process that wait are never answered, because its
// Gone is true.
func (t *Table) DropHolder(c Holder, owner ids.Owner) {
	t.dropRequests(c)
	if h := t.holders[c]; h != nil {
		for o := range h.creating {
			t.abandon(o, "the process that was writing it died")
		}
		for _, o := range h.pins {
			t.dropPin(o)
		}
		delete(t.holders, c)
	}
	for _, o := range t.owned[owner] {
		t.setFreed(o, c)
	}
	t.pump()
}
