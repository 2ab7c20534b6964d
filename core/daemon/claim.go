package daemon

import "github.com/eagleray/eagleray/core/store"

// claim is a range of the arena that a large request will get when the objects
// in it have left. Nobody else gets parts of it meanwhile.
type claim struct {
	request *request
	start   uint64
	parts   []uint64  // offsets of those it has
	objects []*object // that are in it, or were
	missing int       // of them
}

// claimRange chooses a range for r whose objects are idle, those that need the
// fewest bytes to be written.
func (t *objects) claimRange(r *request) bool {
	if t.mover == nil || t.memoryOnly {
		return false
	}
	write := !t.mover.now().Before(t.retryAt)
	pieces, ok := t.space.Window(r.size, func(off, _ uint64) (uint64, bool) {
		o := t.at[off]
		switch {
		case o == nil || o.claim != nil || o.pins > 0 || !o.sealed:
			return 0, false
		case o.disk != nil:
			return 1, true // nothing to write, but it may be wanted again
		case o.moving == spilling:
			return o.size / 2, true
		}
		return o.size, write
	})
	if !ok {
		return false
	}
	k := &claim{request: r, start: pieces[0].Off}
	r.claim = k
	var leave []*object
	for _, p := range pieces {
		if p.Free {
			k.parts = append(k.parts, p.Off)
			continue
		}
		o := t.at[p.Off]
		o.claim = k
		k.objects = append(k.objects, o)
		k.missing++
		leave = append(leave, o)
	}
	b := &batch{}
	for _, o := range leave {
		switch {
		case o.moving == spilling: // comes by itself
		case o.disk != nil:
			t.evict(o)
		default:
			if b.bytes > 0 && b.bytes+o.size > mostBatched {
				t.send(b)
				b = &batch{}
			}
			t.join(b, o)
		}
	}
	if b.bytes > 0 {
		t.send(b)
	}
	return true
}

// partCame gives the range that an object has left to its claim.
func (t *objects) partCame(o *object) {
	k := o.claim
	o.claim = nil
	k.parts = append(k.parts, o.off)
	k.missing--
}

// cash makes one range of a complete claim.
func (t *objects) cash(r *request) uint64 {
	k := r.claim
	r.claim = nil
	if err := t.space.Merge(k.start, r.size); err != nil {
		panic("daemon: object table and arena disagree: " + err.Error())
	}
	return k.start
}

// disclaim ends the claim on an object that cannot leave after all.
func (t *objects) disclaim(o *object) {
	if o.claim != nil {
		o.claim.request.claims++
		t.unclaim(o.claim.request)
	}
}

// freeHanging gives up claims that wait for a disk which hangs, and reports
// whether one does: what is free in them may be enough for others.
func (t *objects) freeHanging() (hanging bool) {
	if t.mover == nil {
		return false
	}
	now := t.mover.now()
	for b := range t.batches {
		if now.Sub(b.since) < hangsAfter {
			continue
		}
		hanging = true
		for _, o := range b.objects {
			if o.claim != nil {
				t.unclaim(o.claim.request)
				t.again = true
			}
		}
	}
	return hanging
}

// unclaim gives up what a request has claimed.
func (t *objects) unclaim(r *request) {
	k := r.claim
	if k == nil {
		return
	}
	r.claim = nil
	for _, o := range k.objects {
		if o.claim == k {
			o.claim = nil
		}
	}
	for _, off := range k.parts {
		if err := t.space.Free(off); err != nil {
			panic("daemon: object table and arena disagree: " + err.Error())
		}
	}
}

var _ space = (*store.Arena)(nil)
