package objects

import "time"

// A request that does not fit waits for the batches that are being written, and
// has more written. A request that is large against the arena gets a range
// cleared, so that small requests, which fit more often, cannot starve it. When
// nothing more can leave the arena the request gets a file. When no file can be
// made it fails.

const (
	largeShare = 16 // a request of more than this share of the arena gets a range cleared
	lookAt     = 64 // so many requests of one process are tried at a time
	maxWindows = 3  // so many ranges are tried to be cleared for one request
	askEvery   = 20 * time.Millisecond
)

// pump gives room to requests that wait, and orders what makes room for the
// others. Every event that may have made room, or that added a request, ends
// with it. What pump calls may itself be an event; then pump only looks again.
func (t *Table) pump() {
	if !t.changed || t.pumping {
		return
	}
	t.pumping = true
	for t.changed && t.waiting > 0 {
		t.changed = false
		t.serve()
		if t.waiting > 0 {
			t.askToUnpin()
		}
		t.makeRoom()
		t.serve() // clean objects have left at once
		t.resolveBlocked()
	}
	t.pumping, t.changed = false, false
	t.writeAhead()
}

// serve grants what fits. Each process in turn is granted one request.
func (t *Table) serve() {
	for idle := 0; len(t.turns) > 0 && idle < len(t.turns); {
		c := t.turns[0]
		copy(t.turns, t.turns[1:])
		t.turns[len(t.turns)-1] = c
		idle++
		for i, r := range t.byHolder[c] {
			if i == lookAt {
				break
			}
			if at, ok := t.findRoom(r); ok {
				t.grant(r, at)
				idle = 0
				break
			}
		}
	}
}

// findRoom finds room for a request in the arena, also when clean objects have to
// leave for it. An object that comes back is read in the page cache instead when
// that costs little, others would have to be written for it, and nobody has read
// it there since it left the arena.
func (t *Table) findRoom(r *request) (Place, bool) {
	if r.making || r.size > t.capacity {
		return Place{}, false
	}
	if k := r.window; k != nil {
		if k.missing > 0 {
			return Place{}, false
		}
		return Place{Off: t.takeWindow(r)}, true
	}
	off, ok := t.space.Alloc(r.size)
	for !ok && !t.large(r) && t.clean.oldest != nil {
		t.evict(t.clean.oldest)
		off, ok = t.space.Alloc(r.size)
	}
	if o := r.restore; o != nil && !ok && !o.wanted && o.disk.Cached() {
		return placeOnDisk(o)
	}
	return Place{Off: off}, ok
}

// placeOnDisk says where the object's copy on disk can be read as it is.
func placeOnDisk(o *object) (Place, bool) {
	path, off, ok := o.disk.Raw()
	return Place{Path: path, Off: off, copy: true}, ok
}

func (t *Table) large(r *request) bool { return r.size > t.capacity/largeShare }

// grant gives a request its room.
func (t *Table) grant(r *request, at Place) {
	t.remove(r)
	if o := r.restore; o != nil {
		t.effects.restore(o, at)
		return
	}
	if err := t.mayCreate(r.holder, r.id); err != nil {
		t.returnPlace(at)
		r.done(Place{}, err)
		return
	}
	t.add(r.holder, r.id, r.size, at)
	r.done(at, nil)
}

// returnPlace gives up room in which no object is.
func (t *Table) returnPlace(at Place) {
	switch {
	case at.copy:
	case at.Path != "":
		t.effects.removeFile(at.Path)
	default:
		t.freeRange(at.Off)
	}
}

// askToUnpin asks processes to unpin what they keep only to be quick the next
// time.
func (t *Table) askToUnpin() {
	if t.effects == nil || t.pinned == 0 {
		return
	}
	now := t.effects.now()
	if now.Sub(t.asked) < askEvery {
		return
	}
	t.asked = now
	for c, h := range t.holders {
		if len(h.pins) > 0 && !c.Gone() {
			t.notify.LetGo(c)
		}
	}
}

// makeRoom drops replicas, writes objects to disk and clears ranges for the requests that wait.
func (t *Table) makeRoom() {
	hanging := t.dropHangingWindows()
	need := uint64(0)
	for _, c := range t.turns {
		for _, r := range t.byHolder[c] {
			switch {
			case r.making || r.size > t.capacity:
			case r.window != nil:
			case t.large(r) && r.cleared < maxWindows && !hanging && t.chooseWindow(r):
			default:
				need += r.size
			}
		}
	}
	need = min(need, t.capacity)
	need -= min(need, t.coming())
	need -= min(need, t.dropReplicas(need))
	t.spill(need)
}
