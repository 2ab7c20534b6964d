package frame

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Pointer is what an envelope of the format "elsewhere" says: an exception too
// large to travel with everything that fails because of it lies in the store.
type Pointer struct {
	ID    ids.Object
	Owner string // address of the object's owner
	Size  uint64
	Brief []byte // the exception in short, for whoever cannot get it; may be empty
}

// AppendPointer writes the metadata of such an envelope.
func AppendPointer(b []byte, p *Pointer) []byte {
	b = wire.AppendArray(b, 4)
	b = wire.AppendBin(b, p.ID[:])
	b = wire.AppendStr(b, p.Owner)
	b = wire.AppendUint(b, p.Size)
	return wire.AppendBin(b, p.Brief)
}

// ReadPointer reads the metadata of such an envelope.
func ReadPointer(meta []byte) (p Pointer, err error) {
	r := wire.NewReader(meta)
	r.Fields(4)
	raw := r.Bin()
	p.Owner, p.Size, p.Brief = r.Str(), r.Uint(), r.Bin()
	if err := r.Err(); err != nil {
		return p, fmt.Errorf("the place of an exception: %w", err)
	}
	if p.ID, err = ids.ParseObject(raw); err != nil {
		return p, fmt.Errorf("the place of an exception: %w: %v", wire.ErrBadFrame, err)
	}
	return p, nil
}
