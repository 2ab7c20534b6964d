package objects

import "github.com/eagleray/eagleray/core/ids"

// Stats say how full the store is, in bytes where not said otherwise.
type Stats struct {
	Capacity, Used, Peak uint64
	Objects, Pinned      int
	More                 map[string]uint64 // named as in docs/protocol.md
}

// Stats returns how full the store is.
func (t *Table) Stats() Stats {
	more := t.named()
	more["waiting"] = uint64(t.waiting)
	return Stats{Capacity: t.capacity, Used: t.used, Peak: t.peak, Objects: len(t.table), Pinned: t.pinned, More: more}
}

// UsedBytes returns how many bytes of the arena are used.
func (t *Table) UsedBytes() uint64 { return min(t.used, t.capacity) }

// Has reports whether the object is in the table, sealed or not, and can be pinned.
func (t *Table) Has(id ids.Object) bool {
	o := t.table[id]
	return o != nil && !o.over()
}

// Writer returns the process that is writing the object, nil when nobody is.
func (t *Table) Writer(id ids.Object) Holder {
	if o := t.table[id]; o != nil && !o.sealed {
		return o.creator
	}
	return nil
}

// Whereabouts say where an object is, in one word, and how many processes have it pinned.
type Whereabouts struct {
	Where string
	Size  uint64
	Pins  int
}

// Find returns where the object is; ok is false when it is not in the table.
func (t *Table) Find(id ids.Object) (w Whereabouts, ok bool) {
	o := t.table[id]
	if o == nil {
		return w, false
	}
	return Whereabouts{Where: o.where(), Size: o.size, Pins: o.pins}, true
}

// Sizes returns how many entries the tables have.
func (t *Table) Sizes() map[string]int {
	return map[string]int{
		"objects": len(t.table), "holders": len(t.holders), "object_owners": len(t.owned),
		"in_arena": len(t.at), "room_queues": len(t.byHolder),
	}
}
