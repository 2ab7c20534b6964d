package daemon

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/store"
)

// space is the arena's allocator, as the object table needs it.
type space interface {
	Alloc(size uint64) (off uint64, ok bool)
	Free(off uint64) error
	Window(size uint64, cost func(off, size uint64) (uint64, bool)) ([]store.Piece, bool)
	Merge(off, size uint64) error
}

// place is where an object's bytes are: at an offset of the arena, or of a file.
// That is one that stands for memory, or the object's copy on disk.
type place struct {
	off  uint64
	path string
	copy bool
}

// objects is the node's table of objects in the arena, in files and on disk. The
// daemon's lock guards it; it does no I/O, see mover.
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
	at      map[uint64]*object // those in the arena, by offset

	used, peak uint64
	pinned     int // objects with a pin

	eviction
	requests
	tally
}

type object struct {
	id      ids.Object
	size    uint64
	place            // where it can be read; nothing when it is only on disk
	inArena bool     // place is of the arena
	disk    diskCopy // a copy on disk, nil: none
	away    bool     // that is the only one
	again   bool     // it was read there since it left the arena
	moving  motion
	claim   *claim // who gets its range of the arena

	sealed  bool
	freed   bool // by its owner, or its owner is gone
	creator *client
	pins    int
	waiters []waiter // pins asked for before the seal, or before it is back in memory

	list         *lru // that it is in
	older, newer *object
}

// diskCopy is an object's copy on disk; *spill.Record is one.
type diskCopy interface {
	Size() uint64
	Stored() uint64
	// Raw says where the object's bytes are as they were, if they are.
	Raw() (path string, off uint64, ok bool)
	// Cached reports whether it can be read there for the price of a copy in memory.
	Cached() bool
	Release()
}

// motion says what the mover is doing with an object.
type motion uint8

const (
	still     motion = iota
	spilling         // being written to disk; it can be read
	restoring        // waits for room, or is being read from disk
)

// where says in a word where the object is.
func (o *object) where() string {
	switch {
	case !o.sealed:
		return "creating"
	case o.moving == restoring:
		return "restoring"
	case o.inArena:
		return "arena"
	case o.path != "" && !o.copy:
		return "file"
	}
	return "spilled"
}

// readable reports whether the object's place is in memory or a file.
func (o *object) readable() bool { return o.inArena || o.path != "" }

// waiter is a pin that waits for the seal or for the bytes.
type waiter struct {
	client *client
	done   func(at place, size uint64, err error)
}

func (w waiter) fail(err error) {
	if !w.client.gone {
		w.done(place{}, 0, err)
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
		table:    make(map[ids.Object]*object),
		holders:  make(map[*client]*holdings),
		owned:    make(map[ids.Owner]map[ids.Object]*object),
		at:       make(map[uint64]*object),
		requests: requests{queues: make(map[*client][]*request)},
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

// mayCreate reports why c cannot create the object.
func (t *objects) mayCreate(c *client, id ids.Object) error {
	if old := t.table[id]; old != nil && (old.sealed || old.creator == c) {
		return fault.New(fault.AlreadyExists, "object %s is in the store already", id)
	}
	return nil
}

// create makes room for an object that c will write and seal. Done is called
// when there is some, or never will be, exactly once unless c goes first.
func (t *objects) create(c *client, id ids.Object, size uint64, done func(place, error)) {
	if err := t.mayCreate(c, id); err != nil {
		done(place{}, err)
		return
	}
	if t.waiting == 0 {
		if off, ok := t.space.Alloc(size); ok {
			t.add(c, id, size, place{off: off})
			done(place{off: off}, nil)
			return
		}
	}
	t.enqueue(&request{client: c, id: id, size: size, done: done})
}

// add makes the object at its place.
func (t *objects) add(c *client, id ids.Object, size uint64, at place) {
	if old := t.table[id]; old != nil {
		// A task that was retried while its first worker is dying: the new one
		// writes the object, the old room goes with its creator.
		t.detach(old)
	}
	o := &object{id: id, size: size, creator: c}
	t.table[id] = o
	t.holder(c).creating[o] = struct{}{}
	if t.owned[id.Owner()] == nil {
		t.owned[id.Owner()] = make(map[ids.Object]*object)
	}
	t.owned[id.Owner()][id] = o
	t.settle(o, at)
}

// settle gives the object its place in memory.
func (t *objects) settle(o *object, at place) {
	o.place = at
	switch {
	case at.copy:
		return
	case at.path != "":
		t.files++
		t.fileBytes += o.size
		return
	}
	o.inArena = true
	t.at[at.off] = o
	t.used += o.size
	t.peak = max(t.peak, t.used)
}

// unsettle takes it away again.
func (t *objects) unsettle(o *object) {
	switch {
	case o.inArena:
		o.inArena = false
		delete(t.at, o.off)
		t.used -= o.size
		if o.claim != nil {
			t.partCame(o)
		} else if err := t.space.Free(o.off); err != nil {
			panic("daemon: object table and arena disagree: " + err.Error())
		}
	case o.path != "" && !o.copy:
		t.files--
		t.fileBytes -= o.size
		t.mover.removeFile(o.path)
	}
	o.place = place{}
}

// seal makes the object readable and answers the pins that wait for it.
func (t *objects) seal(c *client, id ids.Object) error {
	o := t.table[id]
	if o == nil || o.creator != c {
		return fmt.Errorf("seal object %s: it is not being created by this process", id)
	}
	delete(t.holder(c).creating, o)
	o.sealed, o.creator = true, nil
	t.admit(o)
	return nil
}

// admit answers the pins that wait for the object, which can be read now.
func (t *objects) admit(o *object) {
	ws := o.waiters
	o.waiters = nil
	for _, w := range ws {
		if !w.client.gone {
			t.hold(w.client, o)
			w.done(o.place, o.size, nil)
			t.tellFreed(w.client, o)
		}
	}
	t.release(o)
}

// pin holds the object for c: at once when it can be read, else at the seal or
// when it is back from disk. Done is called exactly once unless c goes first.
func (t *objects) pin(c *client, id ids.Object, done func(at place, size uint64, err error)) {
	o := t.table[id]
	switch {
	case o == nil:
		done(place{}, 0, lost(id, "it is not in this node's store"))
	case o.sealed && o.readable() && o.moving != restoring:
		t.hold(c, o)
		done(o.place, o.size, nil)
		t.tellFreed(c, o)
	default:
		o.waiters = append(o.waiters, waiter{c, done})
		if o.sealed && o.moving == still {
			o.moving = restoring
			t.enqueue(&request{client: c, id: id, size: o.size, restore: o})
		}
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
		t.unlist(o)
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
	if r := t.asksFor(c, id); r != nil {
		t.takeBack(r)
	}
	if o == nil {
		return
	}
	if !o.sealed && o.creator == c {
		t.abandon(o, "it was not written")
		delete(t.holder(c).creating, o)
		return
	}
	t.setFreed(o, c)
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

// release gives the room back when nothing holds the object and nobody needs
// it; what is only not looked at now can be moved to disk.
func (t *objects) release(o *object) {
	switch {
	case o.pins > 0 || o.creator != nil || o.moving != still:
	case o.freed:
		t.detach(o)
		t.drop(o)
	case o.sealed:
		t.idle(o)
	}
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

// drop gives the room back, in memory and on disk.
func (t *objects) drop(o *object) {
	t.unlist(o)
	freed := o.inArena
	t.unsettle(o)
	t.forget(o)
	if freed {
		t.pump()
	}
}

// dropClient forgets what a process that is gone held and created, and frees
// what it owned. Its waiting pins are never answered: c.gone is set.
func (t *objects) dropClient(c *client, owner ids.Owner) {
	t.dropRequests(c)
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
		t.setFreed(o, c)
	}
}
