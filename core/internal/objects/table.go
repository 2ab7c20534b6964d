package objects

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

// space is the arena's allocator, as the table needs it.
type space interface {
	Alloc(size uint64) (off uint64, ok bool)
	Free(off uint64) error
	Window(size uint64, cost func(off, size uint64) (uint64, bool)) ([]store.Piece, bool)
	Merge(off, size uint64) error
}

var _ space = (*store.Arena)(nil)

// Table is the table of a machine's objects. See doc.go.
type Table struct {
	space    space
	capacity uint64
	effects  effects // nil: there is no disk and no clock
	notify   Notify  // nil: there is nobody to tell

	table   map[ids.Object]*object
	holders map[Holder]*holdings
	owned   map[ids.Owner]map[ids.Object]*object
	at      map[uint64]*object // the objects in the arena, by offset

	used, peak uint64
	pinned     int // objects with a pin

	spillState
	queues
	counters
}

// spillState is what the table knows of the objects that can leave the arena and
// of the disks to which they go.
//
// An object that is sealed, not pinned and not freed is idle. Each idle object is
// in one of three lists. A clean object has a copy on disk and can leave at once. A
// dirty object is written first. A replica can leave when the node of its owner agrees.
type spillState struct {
	memoryOnly     bool // nothing is written to disk in this session
	dirty, clean   lru
	replicas       lru                 // idle objects that another node has, too; see replicas.go
	questions      map[*batch]struct{} // whether replicas may go
	batches        map[*batch]struct{} // being written
	retryAt        time.Time           // nothing is written before, because the disks failed
	diskErr        error               // how the disks failed
	pressed        time.Time           // when a request last had to wait for room
	batchBytes     uint64              // a batch has at least so many bytes, if there are as many
	writeAheadFrom uint64              // from so many used bytes on objects are written ahead while requests wait
}

func newTable(s space, capacity uint64) *Table {
	return &Table{
		space: s, capacity: capacity,
		table:   make(map[ids.Object]*object),
		holders: make(map[Holder]*holdings),
		owned:   make(map[ids.Owner]map[ids.Object]*object),
		at:      make(map[uint64]*object),
		queues:  queues{byHolder: make(map[Holder][]*request)},
	}
}

func (t *Table) holder(c Holder) *holdings {
	h := t.holders[c]
	if h == nil {
		h = &holdings{pins: make(map[ids.Object]*object), creating: make(map[*object]struct{})}
		t.holders[c] = h
	}
	return h
}

// mayCreate reports why c cannot create the object.
func (t *Table) mayCreate(c Holder, id ids.Object) error {
	if old := t.table[id]; old != nil && (old.sealed || old.creator == c) {
		return fault.New(fault.AlreadyExists, "object %s is in the store already", id)
	}
	return nil
}

// add enters a new object, which c writes at the place.
func (t *Table) add(c Holder, id ids.Object, size uint64, at Place) {
	if old := t.table[id]; old != nil {
		// A task was retried while its first worker is dying. The new worker writes
		// the object; the first worker's room goes when that worker goes.
		t.detach(old)
	}
	o := &object{id: id, size: size, creator: c}
	t.table[id] = o
	t.holder(c).creating[o] = struct{}{}
	if t.owned[id.Owner()] == nil {
		t.owned[id.Owner()] = make(map[ids.Object]*object)
	}
	t.owned[id.Owner()][id] = o
	t.occupy(o, at)
}

// detach takes the object out of the table. Its room stays taken.
func (t *Table) detach(o *object) {
	if t.table[o.id] != o {
		return
	}
	delete(t.table, o.id)
	own := t.owned[o.id.Owner()]
	delete(own, o.id)
	if len(own) == 0 {
		delete(t.owned, o.id.Owner())
	}
	failLost(o.takeWaiters(), o.id, "it was freed or is being written anew")
}

// occupy gives the object its place in memory.
func (t *Table) occupy(o *object, at Place) {
	o.Place = at
	switch {
	case at.copy:
		return
	case at.Path != "":
		t.files++
		t.fileBytes += o.size
		return
	}
	o.inArena = true
	t.at[at.Off] = o
	t.used += o.size
	t.peak = max(t.peak, t.used)
}

// vacate takes the object's place in memory away.
func (t *Table) vacate(o *object) {
	switch {
	case o.inArena:
		t.leaveArena(o)
		if o.window != nil {
			o.window.take(o)
		} else {
			t.freeRange(o.Off)
		}
	case o.Path != "" && !o.copy:
		t.files--
		t.fileBytes -= o.size
		t.effects.removeFile(o.Path)
	}
	o.Place = Place{}
}

// leaveArena notes that the object is not in the arena any more. The caller says
// what becomes of the range.
func (t *Table) leaveArena(o *object) {
	o.inArena = false
	delete(t.at, o.Off)
	t.used -= o.size
}

// freeRange returns a range to the arena.
func (t *Table) freeRange(off uint64) {
	if err := t.space.Free(off); err != nil {
		panic("objects: the table and the arena disagree: " + err.Error())
	}
}

// addPin pins the object for c. A process has at most one pin of an object.
func (t *Table) addPin(c Holder, o *object) {
	h := t.holder(c)
	if h.pins[o.id] != nil {
		return
	}
	h.pins[o.id] = o
	if o.pins++; o.pins == 1 {
		t.pinned++
		unlist(o)
	}
}

// failLost tells pins that the object is lost. Each freed object comes by here, mostly
// without a pin that waits, so the error is made only for somebody.
func failLost(ws []pinWaiter, id ids.Object, why string) {
	if len(ws) > 0 {
		failAll(ws, lost(id, why))
	}
}

func lost(id ids.Object, why string) error {
	return fault.New(fault.ObjectLost, "object %s is lost: %s", id, why)
}
