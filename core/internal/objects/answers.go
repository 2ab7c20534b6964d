package objects

import (
	"errors"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/spill"
)

// written answers effects.write. For each object of the batch there is its copy on
// disk, or nil when it was not written; err says why.
func (t *Table) written(b *batch, copies []diskCopy, err error) {
	delete(t.batches, b)
	for i, o := range b.objects {
		o.moving = still
		if copies[i] == nil {
			t.spoilWindow(o)
			if o.freed || o.pins > 0 {
				t.release(o)
			} else {
				t.dirty.pushOldest(o)
			}
			continue
		}
		o.disk = copies[i]
		t.spills++
		t.spillBytes += o.size
		t.spillStored += copies[i].Stored()
		switch {
		case o.freed || o.pins > 0:
			if o.pins > 0 {
				t.spoilWindow(o)
			}
			t.release(o)
		case o.window != nil:
			t.evict(o)
		default:
			t.clean.pushOldest(o)
		}
	}
	if err != nil {
		t.diskErr, t.retryAt = err, t.effects.now().Add(retryAfter)
		t.effects.later(retryAfter)
	} else {
		t.diskErr = nil
	}
	t.changed = true
	t.pump()
}

// restored answers effects.restore.
func (t *Table) restored(o *object, to Place, err error) {
	o.moving = still
	if err != nil {
		t.returnPlace(to)
		t.loseCopy(o, err)
	} else {
		if t.occupy(o, to); !to.copy {
			t.unevict(o)
		}
		o.wanted = to.copy
		t.restores++
		t.restoreBytes += o.size
		t.answerPins(o)
	}
	t.changed = true
	t.pump()
}

// fileMade answers effects.makeFile.
func (t *Table) fileMade(r *request, path string, err error) {
	r.making = false
	switch {
	case r.dead:
		if err == nil {
			t.effects.removeFile(path)
		}
		return
	case err == nil:
		t.grant(r, Place{Path: path})
	case errors.Is(err, spill.ErrStuck):
		t.diskErr, r.retry = err, t.effects.now().Add(retryAfter)
	case spill.IsFull(err):
		t.refuse(r, fault.New(fault.OutOfDisk, "the object store has no room for an object of %d bytes, and neither has the disk: %v. %s. Free references, make room on the disk, or name a directory of a larger one with object_spilling_directory", r.size, err, t.usage()))
	default:
		t.refuse(r, t.fullError(r.size, err.Error()))
	}
	t.changed = true
	t.pump()
}

// tick answers effects.later.
func (t *Table) tick() {
	t.changed = true
	t.pump()
	if t.waiting > 0 {
		t.warn()
		t.effects.later(lookEvery)
	}
}
