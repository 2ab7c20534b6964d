package daemon

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// maxPins is how many objects one message may ask for: the lock is held for all of them.
const maxPins = 10_000

// pinAll pins what of a list lies in the arena and can be read, and answers
// where. What is elsewhere, or is being written, is asked for one by one.
func (d *Daemon) pinAll(c *client, m *wire.Message) error {
	var q wire.ObjRefs
	if err := m.Decode(&q); err != nil {
		return err
	}
	if len(q.ObjectIDs) > maxPins {
		return fault.New(fault.BadRequest, "%d objects are asked for at once, at most %d can be", len(q.ObjectIDs), maxPins)
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
		_ = m.Reply(d.objects.pinMany(c, list))
	}
	return nil
}

// pinMany pins what can be pinned at once. What was freed is not: who pins that is
// told so, and would hear it before the answer.
func (t *objects) pinMany(c *client, list []ids.Object) (r wire.ObjPlaces) {
	for i, id := range list {
		if o := t.table[id]; o == nil || !o.sealed || !o.inArena || o.freed || o.moving == restoring {
			continue
		}
		t.pin(c, id, func(at place, size uint64, _ error) {
			r.Which = append(r.Which, uint32(i))
			r.Offsets = append(r.Offsets, at.off)
			r.Sizes = append(r.Sizes, size)
		})
	}
	return r
}
