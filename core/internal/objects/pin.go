package objects

import "github.com/eagleray/eagleray/core/ids"

// Pin holds the object for c. It is answered at once when the object can be read,
// else when it is sealed or back from disk. An object that its owner has freed is
// lost for c, though other processes may still look at it: a reader that comes now
// could keep it for as long as that reader lives. Done is called exactly once,
// unless c goes first.
func (t *Table) Pin(c Holder, id ids.Object, done func(at Place, size uint64, err error)) {
	o := t.table[id]
	switch {
	case o == nil:
		done(Place{}, 0, lost(id, "it is not in this node's store"))
	case o.over():
		done(Place{}, 0, lost(id, "its owner has freed it"))
	case o.sealed && o.readable() && o.moving != restoring:
		t.addPin(c, o)
		done(o.Place, o.size, nil)
	default:
		o.waiters = append(o.waiters, pinWaiter{c, done})
		if o.sealed && o.moving == still {
			o.moving = restoring
			t.enqueue(&request{holder: c, id: id, size: o.size, restore: o})
		}
	}
	t.pump()
}

// Unpin ends the pin that c has of the object. It is no error when c has none.
func (t *Table) Unpin(c Holder, id ids.Object) {
	h := t.holders[c]
	if h == nil || h.pins[id] == nil {
		return
	}
	o := h.pins[id]
	delete(h.pins, id)
	t.dropPin(o)
	t.pump()
}

// answerPins answers the pins that wait for an object which can be read now.
func (t *Table) answerPins(o *object) {
	for _, w := range o.takeWaiters() {
		if !w.holder.Gone() {
			t.addPin(w.holder, o)
			w.done(o.Place, o.size, nil)
			t.tellFreed(w.holder, o)
		}
	}
	t.release(o)
}
