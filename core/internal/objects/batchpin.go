package objects

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// PinMany pins those objects of a list that lie in the arena and can be read now,
// and returns their places. A process asks for the others one by one.
func (t *Table) PinMany(c Holder, list []ids.Object) (r wire.ObjPlaces) {
	for i, id := range list {
		if o := t.table[id]; o == nil || !o.sealed || !o.inArena || o.over() || o.moving == restoring {
			continue
		}
		t.Pin(c, id, func(at Place, size uint64, _ error) {
			r.Which = append(r.Which, uint32(i))
			r.Offsets = append(r.Offsets, at.Off)
			r.Sizes = append(r.Sizes, size)
		})
	}
	return r
}
