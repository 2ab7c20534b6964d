package daemon

import (
	"errors"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

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
		_ = m.Reply(d.objects.PinMany(c, list))
	}
	return nil
}

// reuse lets a new object take the range of one that the process has freed. The
// message is not answered: the seal of the new object tells what became of it.
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
	return d.objects.Reuse(c, old, id, q.Size)
}
