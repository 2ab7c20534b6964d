package daemon

import (
	"time"
)

// mover does the object table's I/O. Nothing of it blocks; each order is
// answered later, with the daemon's lock held, by the method that is named.
type mover interface {
	write(b *batch)               // written
	restore(o *object, to place)  // restored
	makeFile(r *request)          // fileMade
	removeFile(path string)       // no answer
	later(d time.Duration)        // tick
	now() time.Time               // for what waits
	letGo(c *client)              // unpin what c does not look at; unpin for each
	freed(c *client, o *object)   // unpin it if c does not look at it; unpin
	told(r *request, text string) // warns r's program; no answer
}

// eviction is the part of the object table that decides what leaves the arena.
//
// What is sealed, not pinned and not freed is idle. Idle objects are in one of
// two lists, the one used last at the end: clean ones have a copy on disk and
// can leave at once; dirty ones are written first, in batches.
type eviction struct {
	mover      mover // nil: there is nobody to ask
	memoryOnly bool  // nothing is spilled: what leaves is what processes let go of
	dirty      lru
	clean      lru
	batches    map[*batch]struct{}
	retryAt    time.Time // the disks failed: not before
	diskErr    error     // how
	pressed    time.Time // when somebody last had to wait for room
	batchBytes uint64    // a batch has at least so many, if there are
	ahead      uint64    // from so many used bytes on, idle objects are written ahead while there is pressure
}

// batch is written to disk together.
type batch struct {
	objects []*object
	bytes   uint64
	since   time.Time
}

// lru is a list of idle objects.
type lru struct {
	oldest, newest *object
	bytes          uint64
}

// Bounds of spilling.
const (
	maxBatches  = 2               // at a time; those that hang do not count
	mostBatched = 64 << 20        // larger objects have a batch to themselves
	hangsAfter  = 3 * time.Second // a batch that is not written yet is thought to hang
	retryAfter  = time.Second     // after the disks failed
	pressureFor = 2 * time.Second // after somebody waited, objects are written ahead
)

func (l *lru) push(o *object) {
	o.list, o.older, o.newer = l, l.newest, nil
	if l.newest != nil {
		l.newest.newer = o
	} else {
		l.oldest = o
	}
	l.newest = o
	l.bytes += o.size
}

// pushOldest adds what is to leave first.
func (l *lru) pushOldest(o *object) {
	o.list, o.older, o.newer = l, nil, l.oldest
	if l.oldest != nil {
		l.oldest.older = o
	} else {
		l.newest = o
	}
	l.oldest = o
	l.bytes += o.size
}

// unlist takes the object out of the list that it is in.
func (t *objects) unlist(o *object) {
	l := o.list
	if l == nil {
		return
	}
	if o.older != nil {
		o.older.newer = o.newer
	} else {
		l.oldest = o.newer
	}
	if o.newer != nil {
		o.newer.older = o.older
	} else {
		l.newest = o.older
	}
	l.bytes -= o.size
	o.list, o.older, o.newer = nil, nil, nil
}

// idle notes that nobody looks at the object now. Objects in files stay there.
func (t *objects) idle(o *object) {
	if o.copy {
		o.place = place{} // the next one may find room for it
	}
	if !o.inArena || o.list != nil || t.mover == nil {
		return
	}
	if o.disk != nil {
		t.clean.push(o)
	} else {
		t.dirty.push(o)
	}
	if t.waiting > 0 {
		t.pump()
	}
}

// evict lets an idle object that has a copy on disk leave the arena.
func (t *objects) evict(o *object) {
	t.unlist(o)
	t.unsettle(o)
	o.away = true
	t.onDisk++
	t.onDiskBytes += o.size
}

// back undoes evict: the object is in memory again, or nowhere.
func (t *objects) back(o *object) {
	if o.away {
		o.away = false
		t.onDisk--
		t.onDiskBytes -= o.size
	}
}

// forget lets the copy on disk go.
func (t *objects) forget(o *object) {
	if o.disk == nil {
		return
	}
	t.back(o)
	o.disk.Release()
	o.disk = nil
}

// spill has idle objects written, the ones used longest ago first, until need
// bytes are on their way.
func (t *objects) spill(need uint64) {
	for need > 0 && t.dirty.oldest != nil && t.canWrite() {
		b := &batch{}
		for o := t.dirty.oldest; o != nil; {
			next := o.newer
			if b.bytes > 0 && (b.bytes+o.size > mostBatched || b.bytes >= max(need, t.batchBytes)) {
				break
			}
			t.join(b, o)
			o = next
		}
		need -= min(need, b.bytes)
		t.send(b)
	}
}

// join puts an idle object into a batch.
func (t *objects) join(b *batch, o *object) {
	t.unlist(o)
	o.moving = spilling
	b.objects = append(b.objects, o)
	b.bytes += o.size
}

func (t *objects) send(b *batch) {
	b.since = t.mover.now()
	if t.batches == nil {
		t.batches = make(map[*batch]struct{})
	}
	t.batches[b] = struct{}{}
	t.mover.write(b)
}

// canWrite reports whether another batch may be begun.
func (t *objects) canWrite() bool {
	return t.mover != nil && !t.memoryOnly && t.underway() < maxBatches && !t.mover.now().Before(t.retryAt)
}

// underway counts the batches that make progress, as far as one can tell.
func (t *objects) underway() (n int) {
	now := t.mover.now()
	for b := range t.batches {
		if now.Sub(b.since) < hangsAfter {
			n++
		}
	}
	return n
}

// coming returns how many bytes of the arena batches will free, those of claims
// excepted.
func (t *objects) coming() (bytes uint64) {
	for b := range t.batches {
		for _, o := range b.objects {
			if o.pins == 0 && o.claim == nil {
				bytes += o.size
			}
		}
	}
	return bytes
}

// written answers mover.write: a record for each object, nil for those that are
// not on disk, and why.
func (t *objects) written(b *batch, records []diskCopy, err error) {
	delete(t.batches, b)
	for i, o := range b.objects {
		o.moving = still
		if records[i] == nil {
			t.disclaim(o)
			if o.freed || o.pins > 0 {
				t.release(o)
			} else {
				t.dirty.pushOldest(o)
			}
			continue
		}
		o.disk = records[i]
		t.spills++
		t.spillBytes += o.size
		t.spillStored += records[i].Stored()
		switch {
		case o.freed || o.pins > 0:
			if o.pins > 0 {
				t.disclaim(o)
			}
			t.release(o)
		case o.claim != nil:
			t.evict(o)
		default:
			t.clean.pushOldest(o)
		}
	}
	if err != nil {
		t.diskErr, t.retryAt = err, t.mover.now().Add(retryAfter)
		t.mover.later(retryAfter)
	} else {
		t.diskErr = nil
	}
	t.pump()
}

// writeAhead keeps some of the arena ready to be given up while there is
// pressure, so that who needs room does not wait for the disk.
func (t *objects) writeAhead() {
	if t.mover == nil || t.used <= t.ahead || t.pressed.IsZero() || t.mover.now().Sub(t.pressed) > pressureFor {
		return
	}
	over := t.used - t.ahead
	over -= min(over, t.clean.bytes+t.coming())
	t.spill(over)
}

// restored answers mover.restore.
func (t *objects) restored(o *object, to place, err error) {
	o.moving = still
	if err != nil {
		t.giveBack(to)
		t.loseDisk(o, err)
		t.pump()
		return
	}
	if t.settle(o, to); !to.copy {
		t.back(o)
	}
	o.again = to.copy
	t.restores++
	t.restoreBytes += o.size
	t.admit(o)
	t.pump()
}

// loseDisk ends an object whose only copy cannot be read.
func (t *objects) loseDisk(o *object, err error) {
	ws := o.waiters
	o.waiters = nil
	t.detach(o)
	t.forget(o)
	for _, w := range ws {
		w.fail(lost(o.id, err.Error()))
	}
}
