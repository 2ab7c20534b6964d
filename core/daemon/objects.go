package daemon

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// space is the arena's allocator, as the object table needs it.
type space interface {
	Alloc(size uint64) (off uint64, ok bool)
	Free(off uint64) error
}

// objects is the node's table of objects in the arena. The daemon's lock
// guards it; it does no I/O.
//
// An object lives from create until its owner has freed it and nobody pins it.
// Its creator holds it until it is sealed. Holders are processes; what a
// process holds goes with it.
type objects struct {
	space    space
	capacity uint64

	table   map[ids.Object]*object
	holders map[*client]*holdings
	owned   map[ids.Owner]map[ids.Object]*object

	used, peak uint64
	pinned     int // objects with a pin
}

type object struct {
	id      ids.Object
	off     uint64
	size    uint64
	sealed  bool
	freed   bool // by its owner, or its owner is gone
	creator *client
	pins    int
	waiters []waiter // pins asked for before the seal
}

// waiter is a pin that waits for the seal.
type waiter struct {
	client *client
	done   func(off, size uint64, err error)
}

func (w waiter) fail(err error) {
	if !w.client.gone {
		w.done(0, 0, err)
	}
}

// holdings is what one process holds.
type holdings struct {
	pins     map[ids.Object]*object
	creating map[*object]struct{}
}

func newObjects(s space, capacity uint64) *objects {
	return &objects{
		space: s, capacity: capacity,
		table:   make(map[ids.Object]*object),
		holders: make(map[*client]*holdings),
		owned:   make(map[ids.Owner]map[ids.Object]*object),
	}
}

func (t *objects) holder(c *client) *holdings {
	h := t.holders[c]
	if h == nil {
		h = &holdings{pins: make(map[ids.Object]*object), creating: make(map[*object]struct{})}
		t.holders[c] = h
	}
	return h
}

// create makes room for an object that c will write and seal.
func (t *objects) create(c *client, id ids.Object, size uint64) (uint64, error) {
	if old := t.table[id]; old != nil {
		if old.sealed || old.creator == c {
			return 0, fault.New(fault.AlreadyExists, "object %s is in the store already", id)
		}
		// A task that was retried while its first worker is dying: the new one
		// writes the object, the old room goes with its creator.
		t.detach(old)
	}
	off, ok := t.space.Alloc(size)
	if !ok {
		return 0, fault.New(fault.StoreFull, "the object store has no room for an object of %d bytes: %d of %d bytes are used by %d objects (%d of them pinned by a value in use). Free references, or give the store more with object_store_memory", size, t.used, t.capacity, len(t.table), t.pinned)
	}
	o := &object{id: id, off: off, size: size, creator: c}
	t.table[id] = o
	t.holder(c).creating[o] = struct{}{}
	if t.owned[id.Owner()] == nil {
		t.owned[id.Owner()] = make(map[ids.Object]*object)
	}
	t.owned[id.Owner()][id] = o
	t.used += size
	t.peak = max(t.peak, t.used)
	return off, nil
}

// seal makes the object readable and answers the pins that wait for it.
func (t *objects) seal(c *client, id ids.Object) error {
	o := t.table[id]
	if o == nil || o.creator != c {
		return fmt.Errorf("seal object %s: it is not being created by this process", id)
	}
	delete(t.holder(c).creating, o)
	o.sealed, o.creator = true, nil
	ws := o.waiters
	o.waiters = nil
	for _, w := range ws {
		if !w.client.gone {
			t.hold(w.client, o)
			w.done(o.off, o.size, nil)
		}
	}
	t.release(o)
	return nil
}

// pin holds the object for c: at once when it is sealed, else at the seal. Done
// is called exactly once unless c goes first.
func (t *objects) pin(c *client, id ids.Object, done func(off, size uint64, err error)) {
	o := t.table[id]
	switch {
	case o == nil:
		done(0, 0, lost(id, "it is not in this node's store"))
	case !o.sealed:
		o.waiters = append(o.waiters, waiter{c, done})
	default:
		t.hold(c, o)
		done(o.off, o.size, nil)
	}
}

func lost(id ids.Object, why string) error {
	return fault.New(fault.ObjectLost, "object %s is lost: %s", id, why)
}

func (t *objects) hold(c *client, o *object) {
	h := t.holder(c)
	if h.pins[o.id] != nil {
		return
	}
	h.pins[o.id] = o
	if o.pins++; o.pins == 1 {
		t.pinned++
	}
}

// unpin ends c's hold; one that it has not is no error.
func (t *objects) unpin(c *client, id ids.Object) {
	h := t.holders[c]
	if h == nil || h.pins[id] == nil {
		return
	}
	o := h.pins[id]
	delete(h.pins, id)
	t.unhold(o)
}

func (t *objects) unhold(o *object) {
	if o.pins--; o.pins == 0 {
		t.pinned--
		t.release(o)
	}
}

// free says that the owner has no reference left, or, from a creator, that the
// object will not be written after all.
func (t *objects) free(c *client, id ids.Object) {
	o := t.table[id]
	if o == nil {
		return
	}
	if !o.sealed && o.creator == c {
		t.abandon(o, "it was not written")
		delete(t.holder(c).creating, o)
		return
	}
	o.freed = true
	t.release(o)
}

// abandon ends an object that its creator will not seal.
func (t *objects) abandon(o *object, why string) {
	o.creator = nil
	ws := o.waiters
	o.waiters = nil
	t.detach(o)
	t.drop(o)
	for _, w := range ws {
		w.fail(lost(o.id, why))
	}
}

// release gives the room back when nothing holds the object.
func (t *objects) release(o *object) {
	if !o.freed || o.pins > 0 || o.creator != nil {
		return
	}
	t.detach(o)
	t.drop(o)
}

// detach takes the object out of the table; its room stays taken.
func (t *objects) detach(o *object) {
	if t.table[o.id] != o {
		return
	}
	delete(t.table, o.id)
	own := t.owned[o.id.Owner()]
	delete(own, o.id)
	if len(own) == 0 {
		delete(t.owned, o.id.Owner())
	}
	for _, w := range o.waiters {
		w.fail(lost(o.id, "it was freed or is being written anew"))
	}
	o.waiters = nil
}

// drop gives the room back.
func (t *objects) drop(o *object) {
	t.used -= o.size
	if err := t.space.Free(o.off); err != nil {
		panic("daemon: object table and arena disagree: " + err.Error())
	}
}

// dropClient forgets what a process that is gone held and created, and frees
// what it owned. Its waiting pins are never answered: c.gone is set.
func (t *objects) dropClient(c *client, owner ids.Owner) {
	if h := t.holders[c]; h != nil {
		for o := range h.creating {
			t.abandon(o, "the process that was writing it died")
		}
		for _, o := range h.pins {
			t.unhold(o)
		}
		delete(t.holders, c)
	}
	for _, o := range t.owned[owner] {
		o.freed = true
		t.release(o)
	}
}
