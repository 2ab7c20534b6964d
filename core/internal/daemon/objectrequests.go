package daemon

import (
	"errors"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/pulls"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// objectRequest serves a message about one object, whose id is in its body, under the daemon's lock, unless
// the process is gone.
func objectRequest[Q any](raw func(*Q) *[]byte, f func(d *Daemon, c *client, id ids.Object, q *Q, m *wire.Message) error) func(*Daemon, *client, *wire.Message) error {
	return func(d *Daemon, c *client, m *wire.Message) error {
		q := new(Q)
		id, err := decodeObject(m, q, raw(q))
		if err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if c.gone {
			return nil
		}
		return f(d, c, id, q, m)
	}
}

// objectOnly serves a message that says nothing but the object.
func objectOnly(f func(d *Daemon, c *client, id ids.Object, m *wire.Message) error) func(*Daemon, *client, *wire.Message) error {
	return objectRequest(func(q *wire.ObjRef) *[]byte { return &q.ObjectID }, func(d *Daemon, c *client, id ids.Object, _ *wire.ObjRef, m *wire.Message) error {
		return f(d, c, id, m)
	})
}

// createObject serves TObjCreate; mu held.
func (d *Daemon) createObject(c *client, id ids.Object, q *wire.ObjCreate, m *wire.Message) error {
	if !d.knowsOwner(id.Owner()) {
		_ = m.Fail(fault.New(fault.OwnerDied, "object %s: its owner is gone", id))
		return nil
	}
	if err := d.mayWrite(c, id); err != nil {
		return err
	}
	if q.Anew {
		d.objects.Supersede(c, id)
	}
	d.objects.Create(c, id, q.Size, func(at objects.Place, err error) {
		if err != nil {
			answerPlace(m, at, q.Size, err)
			return
		}
		d.pulls.Made(c, id, q.Size, func(err error) { answerPlace(m, at, q.Size, err) })
	})
	return nil
}

func answerPlace(m *wire.Message, at objects.Place, size uint64, err error) {
	if err != nil {
		_ = m.Fail(err)
		return
	}
	_ = m.Reply(wire.ObjPlace{Offset: at.Off, Size: size, Path: at.Path})
}

// sealObject serves TObjSeal; mu held.
func (d *Daemon) sealObject(c *client, id ids.Object, _ *wire.Message) error {
	return d.sealed(id, d.objects.Seal(c, id))
}

// sealPinned serves TObjSealed; mu held.
func (d *Daemon) sealPinned(c *client, id ids.Object, _ *wire.Message) error {
	return d.sealed(id, d.objects.SealPinned(c, id))
}

// sealed tells other nodes that an object is written, unless err says that it is not.
func (d *Daemon) sealed(id ids.Object, err error) error {
	if err == nil {
		d.pulls.Sealed(id)
	}
	return err
}

// pinObject serves TObjPin; mu held. An object that only other nodes have is brought here first.
func (d *Daemon) pinObject(c *client, id ids.Object, q *wire.ObjPin, m *wire.Message) error {
	if !d.pulls.Elsewhere(id) {
		d.pinHere(c, id, m)
		return nil
	}
	urgency := pulls.Get
	if q.Argument {
		urgency = pulls.Argument
	}
	d.pulls.Want(c, id, urgency, func(err error) {
		if err != nil {
			_ = m.Fail(err)
			return
		}
		d.pinHere(c, id, m)
	})
	return nil
}

// pinHere pins an object that this node's store has, if any node has it; mu held.
func (d *Daemon) pinHere(c *client, id ids.Object, m *wire.Message) {
	known := d.objects.Has(id)
	d.objects.Pin(c, id, func(at objects.Place, size uint64, err error) {
		if err != nil && !known && !d.knowsOwner(id.Owner()) {
			err = fault.New(fault.OwnerDied, "object %s is lost: the process that owned it has ended", id)
		}
		answerPlace(m, at, size, err)
	})
}

// maxPins is how many objects one message may ask for, because the lock is held
// while they are pinned.
const maxPins = 10_000

// pinAll answers where those objects of a list lie that can be pinned at once.
func (d *Daemon) pinAll(c *client, m *wire.Message) error {
	var q wire.ObjRefs
	if err := m.Decode(&q); err != nil {
		return err
	}
	if len(q.ObjectIDs) > maxPins {
		return fault.New(fault.BadRequest, "the request names %d objects, at most %d are allowed", len(q.ObjectIDs), maxPins)
	}
	list := make([]ids.Object, len(q.ObjectIDs))
	for i, raw := range q.ObjectIDs {
		id, err := ids.ParseObject(raw)
		if err != nil {
			return fault.New(fault.BadRequest, "%s: %v", m.Type, err)
		}
		list[i] = id
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !c.gone {
		_ = m.Reply(d.objects.PinMany(c, list))
	}
	return nil
}

// unpinObject serves TObjUnpin; mu held.
func (d *Daemon) unpinObject(c *client, id ids.Object, _ *wire.Message) error {
	d.objects.Unpin(c, id)
	return nil
}

// reuse lets a new object take the range of one that the process has freed. The
// message is not answered: the seal of the new object tells what became of it.
func (d *Daemon) reuse(c *client, id ids.Object, q *wire.ObjReuse, m *wire.Message) error {
	old, err := ids.ParseObject(q.Old)
	if err != nil {
		return fault.New(fault.BadRequest, "%s: the place of which object: %v", m.Type, err)
	}
	if err := errors.Join(d.mayWrite(c, id), d.mayFree(c, old)); err != nil {
		return err
	}
	if err := d.objects.Reuse(c, old, id, q.Size); err != nil {
		return err
	}
	d.pulls.Freed(old)
	return nil
}

// freeObjects serves TObjFree. An object that the process may not free is refused by
// itself: the message has no answer.
func (d *Daemon) freeObjects(c *client, m *wire.Message) error {
	var q wire.ObjRefs
	if err := m.Decode(&q); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, raw := range q.ObjectIDs {
		id, err := ids.ParseObject(raw)
		if err == nil {
			err = d.mayFree(c, id)
		}
		if err != nil {
			d.refuse("message refused", err)
		} else if !c.gone {
			if d.objects.Free(c, id); c.owns(id) {
				d.pulls.Freed(id)
			}
		}
	}
	return nil
}

// objectStats serves TObjStats.
func (d *Daemon) objectStats(_ *client, m *wire.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	st := d.objects.Stats()
	return m.Reply(wire.ObjStats{Capacity: st.Capacity, Used: st.Used, Objects: st.Objects, Pinned: st.Pinned, PeakBytes: st.Peak, More: st.More})
}

// locateObjects serves TObjWhere.
func (d *Daemon) locateObjects(_ *client, m *wire.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pulls.Locate(m)
}

// checkObjects serves TObjCheck.
func (d *Daemon) checkObjects(_ *client, m *wire.Message) error {
	var q wire.ObjRefs
	if err := m.Decode(&q); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.objects.Check(q.ObjectIDs, func(missing [][]byte) {
		d.pulls.Missing(missing, func(missing [][]byte) {
			_ = m.Reply(wire.ObjMissing{ObjectIDs: missing, With: d.pulls.LostWith(missing)})
		})
	})
	return nil
}
