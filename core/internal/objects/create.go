package objects

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
)

// Create makes room for an object that c will write and seal. Done is called
// exactly once, when there is room or when it is certain that there will be none,
// unless c goes first.
func (t *Table) Create(c Holder, id ids.Object, size uint64, done func(Place, error)) {
	if err := t.mayCreate(c, id); err != nil {
		done(Place{}, err)
		return
	}
	if t.waiting == 0 {
		if off, ok := t.space.Alloc(size); ok {
			t.add(c, id, size, Place{Off: off})
			done(Place{Off: off}, nil)
			t.pump()
			return
		}
	}
	t.enqueue(&request{holder: c, id: id, size: size, done: done})
	t.pump()
}

// Seal makes the object readable and answers the pins that wait for it.
func (t *Table) Seal(c Holder, id ids.Object) error {
	o := t.table[id]
	if o == nil || o.creator != c {
		return fmt.Errorf("seal object %s: it is not being created by this process", id)
	}
	delete(t.holder(c).creating, o)
	o.sealed, o.creator = true, nil
	t.answerPins(o)
	t.pump()
	return nil
}

// SealPinned is Seal for a creator that goes on to use the object: it has the
// object pinned from then on.
func (t *Table) SealPinned(c Holder, id ids.Object) error {
	if o := t.table[id]; o != nil && o.creator == c {
		t.addPin(c, o)
	}
	return t.Seal(c, id)
}

// Supersede makes way for a result that its task writes again because it runs
// again. What an earlier run has written is not needed any more: it goes at
// once, or with the last process that reads it.
func (t *Table) Supersede(c Holder, id ids.Object) {
	o := t.table[id]
	switch {
	case o == nil:
	case o.sealed:
		t.detach(o)
		t.setFreed(o, nil)
	case o.creator == c:
		delete(t.holder(c).creating, o)
		t.abandon(o, "it is being written anew")
	}
	t.pump()
}
