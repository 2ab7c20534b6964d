package envelope

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

// Value is a serialised value that the program gives. Nothing keeps it longer than a call.
type Value struct {
	Fmt    uint8 // a store.Format
	Meta   []byte
	Bufs   [][]byte
	Nested []ids.Object // the references inside
	Site   uint32       // where in the program it was given; 0: not known
}

// usualBufs is how many buffers a value may have whose size is computed without an allocation.
const usualBufs = 8

// Size returns how many bytes the value's envelope has.
func (v *Value) Size() int {
	var fewLens, fewOffsets [usualBufs]int
	lens := fewLens[:0]
	for _, b := range v.Bufs {
		lens = append(lens, len(b))
	}
	size, _ := store.Layout(len(v.Meta), lens, fewOffsets[:0])
	return size
}

// Envelope copies the value into a slice of its own. The size is what Size has returned.
func (v *Value) Envelope(size int) []byte {
	return v.Append(make([]byte, 0, size))
}

// Append appends the value's envelope.
func (v *Value) Append(b []byte) []byte {
	return store.AppendEnvelope(b, store.Format(v.Fmt), v.Meta, v.Bufs...)
}
