package daemon

import (
	"errors"
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// A process that has freed an object may have the next one take its range, without
// asking: see reuse.go of core/client.

// reuse serves the message that says so. It is no request: the seal tells what became of it.
func (d *Daemon) reuse(c *client, m *wire.Message) error {
	var q wire.ObjReuse
	id, err := decodeObject(m, &q, &q.ObjectID)
	if err != nil {
		return err
	}
	old, err := ids.ParseObject(q.Old)
	if err != nil {
		return fault.New(fault.BadRequest, "%s: the place of which object: %v", m.Type, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.gone {
		return nil
	}
	if err := errors.Join(d.mayWrite(c, id), d.mayFree(c, old)); err != nil {
		return err
	}
	return d.objects.reuse(c, old, id, q.Size)
}

// reuse makes the object id, which c will write and seal, at the place of old, which
// c alone has pinned and has let go of. An error: it is not so, and id is not made.
func (t *objects) reuse(c *client, old, id ids.Object, size uint64) error {
	o, h := t.table[old], t.holders[c]
	switch {
	case o == nil || h == nil || h.pins[old] != o || o.pins != 1 || !o.sealed || !o.inArena || o.moving != still || o.claim != nil:
		return fmt.Errorf("object %s cannot take the place of %s: that is not this process's alone", id, old)
	case size > o.size:
		return fmt.Errorf("object %s of %d bytes cannot take the place of %s, which has %d", id, size, old, o.size)
	}
	if err := t.mayCreate(c, id); err != nil {
		return err
	}
	at := o.place
	delete(h.pins, old)
	o.pins = 0
	t.pinned--
	t.detach(o)
	t.unlist(o)
	t.forget(o)
	o.inArena, o.place = false, place{}
	delete(t.at, at.off)
	t.used -= o.size
	t.add(c, id, size, at)
	return nil
}

// sealHeld is seal; the creator has the object pinned from then on.
func (t *objects) sealHeld(c *client, id ids.Object) error {
	if o := t.table[id]; o != nil && o.creator == c {
		t.hold(c, o)
	}
	return t.seal(c, id)
}
