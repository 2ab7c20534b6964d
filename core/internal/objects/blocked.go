package objects

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
)

// resolveBlocked ends the waiting of requests for which nothing more can leave the
// arena.
func (t *Table) resolveBlocked() {
	for _, c := range append([]Holder(nil), t.turns...) {
		for _, r := range append([]*request(nil), t.byHolder[c]...) {
			if r.making || r.window != nil {
				continue
			}
			if r.size <= t.capacity && t.mayGetRoom(r) {
				continue
			}
			t.useFile(r)
		}
	}
}

// mayGetRoom reports whether the arena may have room for a request soon.
func (t *Table) mayGetRoom(r *request) bool {
	if t.effects == nil {
		return false
	}
	if t.asksUnderway() > 0 || t.diskErr == nil && (t.underway() > 0 || t.dirty.oldest != nil && t.canWrite()) {
		r.blocked = time.Time{}
		return true
	}
	now := t.effects.now()
	if r.blocked.IsZero() {
		r.blocked = now
		t.effects.later(t.grace)
	}
	return now.Sub(r.blocked) < t.grace
}

// useFile orders a file for a request. An object that lies uncompressed on disk
// is read there instead.
func (t *Table) useFile(r *request) {
	if t.effects == nil || t.memoryOnly {
		t.refuse(r, t.fullError(r.size, "nothing is spilled to disk in this session"))
		return
	}
	if t.effects.now().Before(r.retry) {
		return
	}
	if o := r.restore; o != nil {
		if at, ok := placeOnDisk(o); ok {
			t.grant(r, at)
			return
		}
	}
	r.making = true
	t.effects.makeFile(r)
}

// refuse ends a request with an error. An object on disk stays there, and the
// pins that wait for it get the error.
func (t *Table) refuse(r *request, err error) {
	t.dropWindow(r)
	t.remove(r)
	o := r.restore
	if o == nil {
		r.done(Place{}, err)
		return
	}
	o.moving = still
	failAll(o.takeWaiters(), err)
	t.release(o)
}

func (t *Table) fullError(size uint64, why string) error {
	return fault.New(fault.StoreFull, "the object store has no room for an object of %d bytes: %s (%s). Free references, or give the store more with object_store_memory", size, t.usage(), why)
}

// usage says in words what the arena is used for.
func (t *Table) usage() string {
	return fmt.Sprintf("%d of %d bytes are used by %d objects (%d of them pinned by a value in use)", t.used, t.capacity, len(t.table)-t.onDisk-t.files, t.pinned)
}
