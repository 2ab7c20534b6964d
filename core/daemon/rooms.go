package daemon

import (
	"errors"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/spill"
)

// request waits for room: for an object to be written, or to come back from disk.
type request struct {
	client  *client
	id      ids.Object
	size    uint64
	restore *object            // nil: a creation
	done    func(place, error) // of a creation
	since   time.Time
	claim   *claim
	claims  int       // that came to nothing
	making  bool      // a file is being made for it
	dead    bool      // its process has gone, or it was answered
	blocked time.Time // since when nothing can leave the arena for it
	retry   time.Time // a file could not be made because the disks hang: not before
	warned  time.Time
}

// requests are those that wait, by process; the processes take turns.
//
// What does not fit waits for the batches that are being written and has others
// written. A request that is large against the arena claims a range, so that
// small ones which fit cannot starve it. When nothing more can leave the arena it
// gets a file; when there is none to be had it fails.
type requests struct {
	queues  map[*client][]*request
	turns   []*client
	waiting int
	pumping bool
	again   bool          // something changed while pumping
	asked   time.Time     // when processes were told to let go
	grace   time.Duration // how long what is in use may become free before a file is made
}

// Bounds of waiting.
const (
	largeShare = 16 // a request of more than this share of the arena claims a range
	lookAt     = 64 // requests of one process that are tried at a time
	maxClaims  = 3
	lookEvery  = time.Second // while something waits
	warnAfter  = 10 * time.Second
	tellAgain  = time.Minute
	askEvery   = 20 * time.Millisecond
)

func (t *objects) enqueue(r *request) {
	if t.mover != nil {
		r.since = t.mover.now()
		t.pressed = r.since
	}
	if len(t.queues[r.client]) == 0 {
		t.turns = append(t.turns, r.client)
	}
	t.queues[r.client] = append(t.queues[r.client], r)
	if t.waiting++; t.waiting == 1 && t.mover != nil {
		t.mover.later(lookEvery)
	}
	t.pump()
}

// remove takes a request out of its queue.
func (t *objects) remove(r *request) {
	r.dead = true
	q := t.queues[r.client]
	for i, x := range q {
		if x == r {
			q = append(q[:i:i], q[i+1:]...)
			t.waiting--
			break
		}
	}
	if len(q) > 0 {
		t.queues[r.client] = q
		return
	}
	delete(t.queues, r.client)
	for i, c := range t.turns {
		if c == r.client {
			t.turns = append(t.turns[:i:i], t.turns[i+1:]...)
			break
		}
	}
}

// dropRequests forgets what a process that is gone waited for. What others wait
// for, too, goes on in their name.
func (t *objects) dropRequests(c *client) {
	for _, r := range append([]*request(nil), t.queues[c]...) {
		t.unclaim(r)
		t.remove(r)
		o := r.restore
		if o == nil {
			continue
		}
		var other *client
		for _, w := range o.waiters {
			if !w.client.gone {
				other = w.client
			}
		}
		if other != nil {
			t.enqueue(&request{client: other, id: r.id, size: r.size, restore: o})
			continue
		}
		o.moving, o.waiters = still, nil
		t.release(o)
	}
}

// tick is called when mover.later said so.
func (t *objects) tick() {
	t.pump()
	if t.waiting > 0 {
		t.warn()
		t.mover.later(lookEvery)
	}
}

// pump gives room to those who wait, and has some made.
func (t *objects) pump() {
	if t.again = true; t.pumping {
		return
	}
	if t.waiting > 0 {
		t.pumping = true
		for t.again {
			t.again = false
			t.serve()
			if t.waiting > 0 {
				t.askAround()
			}
			t.order()
			t.serve() // what was clean went at once
			t.giveUp()
		}
		t.pumping = false
	}
	t.writeAhead()
}

// serve answers, one of each process in turn, what fits.
func (t *objects) serve() {
	for idle := 0; len(t.turns) > 0 && idle < len(t.turns); {
		c := t.turns[0]
		copy(t.turns, t.turns[1:])
		t.turns[len(t.turns)-1] = c
		idle++
		for i, r := range t.queues[c] {
			if i == lookAt {
				break
			}
			if at, ok := t.fit(r); ok {
				t.grant(r, at)
				idle = 0
				break
			}
		}
	}
}

// fit finds room in the arena, if there is some, or as soon as clean objects
// leave. An object that is wanted back for the first time since it left, and for
// which others would have to be written, is read where it lies in the page cache.
func (t *objects) fit(r *request) (place, bool) {
	if r.making || r.size > t.capacity {
		return place{}, false
	}
	if k := r.claim; k != nil {
		if k.missing > 0 {
			return place{}, false
		}
		return place{off: t.cash(r)}, true
	}
	off, ok := t.space.Alloc(r.size)
	for !ok && !t.large(r) && t.clean.oldest != nil {
		t.evict(t.clean.oldest)
		off, ok = t.space.Alloc(r.size)
	}
	if o := r.restore; o != nil && !ok && !o.again && o.disk.Cached() {
		return t.onDiskPlace(o)
	}
	return place{off: off}, ok
}

// onDiskPlace is where the object's copy on disk can be read as it is.
func (t *objects) onDiskPlace(o *object) (place, bool) {
	path, off, ok := o.disk.Raw()
	return place{path: path, off: off, copy: true}, ok
}

func (t *objects) large(r *request) bool { return r.size > t.capacity/largeShare }

// grant gives a request its room.
func (t *objects) grant(r *request, at place) {
	t.remove(r)
	if o := r.restore; o != nil {
		t.mover.restore(o, at)
		return
	}
	if err := t.mayCreate(r.client, r.id); err != nil {
		t.giveBack(at)
		r.done(place{}, err)
		return
	}
	t.add(r.client, r.id, r.size, at)
	r.done(at, nil)
}

// giveBack returns room that no object has.
func (t *objects) giveBack(at place) {
	if at.copy {
		return
	}
	if at.path != "" {
		t.mover.removeFile(at.path)
	} else if err := t.space.Free(at.off); err != nil {
		panic("daemon: object table and arena disagree: " + err.Error())
	}
}

// askAround has processes unpin what they keep only to be quick the next time.
func (t *objects) askAround() {
	if t.mover == nil || t.pinned == 0 {
		return
	}
	now := t.mover.now()
	if now.Sub(t.asked) < askEvery {
		return
	}
	t.asked = now
	for c, h := range t.holders {
		if len(h.pins) > 0 && !c.gone {
			t.mover.letGo(c)
		}
	}
}

// order has objects written, and claims ranges, for those who wait.
func (t *objects) order() {
	hanging := t.freeHanging()
	need := uint64(0)
	for _, c := range t.turns {
		for _, r := range t.queues[c] {
			switch {
			case r.making || r.size > t.capacity:
			case r.claim != nil:
			case t.large(r) && r.claims < maxClaims && !hanging && t.claimRange(r):
			default:
				need += r.size
			}
		}
	}
	need = min(need, t.capacity)
	need -= min(need, t.coming())
	t.spill(need)
}

// giveUp ends the waiting of requests for which nothing more can leave the arena.
func (t *objects) giveUp() {
	for _, c := range append([]*client(nil), t.turns...) {
		for _, r := range append([]*request(nil), t.queues[c]...) {
			if r.making || r.claim != nil {
				continue
			}
			if r.size <= t.capacity && t.hopeful(r) {
				continue
			}
			t.elsewhere(r)
		}
	}
}

// hopeful reports whether the arena may still have room for r soon.
func (t *objects) hopeful(r *request) bool {
	if t.mover == nil {
		return false
	}
	if t.diskErr == nil && (t.underway() > 0 || t.dirty.oldest != nil && t.canWrite()) {
		r.blocked = time.Time{}
		return true
	}
	now := t.mover.now()
	if r.blocked.IsZero() {
		r.blocked = now
		t.mover.later(t.grace)
	}
	return now.Sub(r.blocked) < t.grace
}

// elsewhere has a file made for r. What is on disk as it was is read there.
func (t *objects) elsewhere(r *request) {
	if t.mover == nil || t.memoryOnly {
		t.refuse(r, t.fullError(r.size, "nothing is spilled to disk in this session"))
		return
	}
	if t.mover.now().Before(r.retry) {
		return
	}
	if o := r.restore; o != nil {
		if at, ok := t.onDiskPlace(o); ok {
			t.grant(r, at)
			return
		}
	}
	r.making = true
	t.mover.makeFile(r)
}

// fileMade answers mover.makeFile.
func (t *objects) fileMade(r *request, path string, err error) {
	r.making = false
	switch {
	case r.dead:
		if err == nil {
			t.mover.removeFile(path)
		}
		return
	case err == nil:
		t.grant(r, place{path: path})
	case errors.Is(err, spill.ErrStuck):
		t.diskErr, r.retry = err, t.mover.now().Add(retryAfter)
	case spill.IsFull(err):
		t.refuse(r, fault.New(fault.OutOfDisk, "the object store has no room for an object of %d bytes, and neither has the disk: %v. %s. Free references, make room on the disk, or name a directory of a larger one with object_spilling_directory", r.size, err, t.usage()))
	default:
		t.refuse(r, t.fullError(r.size, err.Error()))
	}
	t.pump()
}

// refuse ends a request; what waits for an object on disk gets the error, and
// the object stays.
func (t *objects) refuse(r *request, err error) {
	t.unclaim(r)
	t.remove(r)
	o := r.restore
	if o == nil {
		r.done(place{}, err)
		return
	}
	ws := o.waiters
	o.moving, o.waiters = still, nil
	for _, w := range ws {
		w.fail(err)
	}
	t.release(o)
}

func (t *objects) fullError(size uint64, why string) error {
	return fault.New(fault.StoreFull, "the object store has no room for an object of %d bytes: %s (%s). Free references, or give the store more with object_store_memory", size, t.usage(), why)
}

func (t *objects) usage() string {
	return fmt.Sprintf("%d of %d bytes are used by %d objects (%d of them pinned by a value in use)", t.used, t.capacity, len(t.table)-t.onDisk-t.files, t.pinned)
}

// warn tells those who have waited for long why.
func (t *objects) warn() {
	now := t.mover.now()
	for _, c := range t.turns {
		for _, r := range t.queues[c] {
			if now.Sub(r.since) < warnAfter || now.Before(r.warned) {
				continue
			}
			r.warned = now.Add(tellAgain)
			what := "a new object"
			if r.restore != nil {
				what = "an object that was spilled"
			}
			t.mover.told(r, fmt.Sprintf("%s of %d bytes has waited for more than %v for room in the object store: %s; %s", what, r.size, warnAfter, t.usage(), t.waitsFor()))
		}
	}
}

// waitsFor says what room depends on now.
func (t *objects) waitsFor() string {
	now := t.mover.now()
	hanging, oldest := 0, time.Duration(0)
	for b := range t.batches {
		if age := now.Sub(b.since); age >= hangsAfter {
			hanging++
			oldest = max(oldest, age)
		}
	}
	switch {
	case hanging > 0:
		return fmt.Sprintf("%d writes to disk hang, the oldest for %v", hanging, oldest.Round(time.Second))
	case t.diskErr != nil:
		return "the disk fails: " + t.diskErr.Error()
	case len(t.batches) > 0:
		return fmt.Sprintf("%d writes to disk are on their way", len(t.batches))
	}
	return "nothing can be spilled"
}
