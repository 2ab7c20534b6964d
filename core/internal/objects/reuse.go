package objects

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
)

// Reuse makes the object id, which c will write and seal, at the place of the
// object old, which c alone has pinned and has freed. So a put after a put asks
// for no room: see reuse.go of core/internal/localstore. When old is not such an object Reuse
// returns an error and makes nothing.
func (t *Table) Reuse(c Holder, old, id ids.Object, size uint64) error {
	o, h := t.table[old], t.holders[c]
	switch {
	case o == nil || h == nil || h.pins[old] != o || o.pins != 1 || !o.sealed || !o.inArena || o.moving != still || o.window != nil:
		return fmt.Errorf("object %s cannot take the place of %s: that is not this process's alone", id, old)
	case size > o.size:
		return fmt.Errorf("object %s of %d bytes cannot take the place of %s, which has %d", id, size, old, o.size)
	}
	if err := t.mayCreate(c, id); err != nil {
		return err
	}
	at := o.Place
	delete(h.pins, old)
	o.pins = 0
	t.pinned--
	t.detach(o)
	unlist(o)
	t.dropCopy(o)
	t.leaveArena(o)
	o.Place = Place{}
	t.add(c, id, size, at)
	return nil
}
