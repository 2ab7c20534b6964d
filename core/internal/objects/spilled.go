package objects

import "github.com/eagleray/eagleray/core/ids"

// Spilled is the copy on disk of an object, which lasts until Release. Other nodes read it there.
type Spilled interface {
	// ReadPart passes the part that begins at off, a multiple of spill.PartSize, to f piece by piece. After an error what f has got
	// means nothing.
	ReadPart(off uint64, f func(piece []byte) error) error
	Release()
}

// inParts is a copy that may be read in parts. *spill.Record is one.
type inParts interface {
	Spilled
	Hold()
	HasParts() bool
}

// HoldSpilled returns the copy on disk of an object that is nowhere else and can be read there in parts. The caller releases it.
func (t *Table) HoldSpilled(id ids.Object) (c Spilled, size uint64, ok bool) {
	o := t.table[id]
	if o == nil || !o.evicted || o.moving != still || o.over() {
		return nil, 0, false
	}
	p, ok := o.disk.(inParts)
	if !ok || !p.HasParts() {
		return nil, 0, false
	}
	p.Hold()
	return p, o.size, true
}
