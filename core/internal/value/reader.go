package value

import (
	"reflect"
	"slices"

	"github.com/eagleray/eagleray/core/internal/store"
)

// Ref stands for a reference in a value: its place in the table in front of the pickle.
type Ref int

// Reader says how the parts of an envelope become Go values.
type Reader struct {
	// Keep is what keeps the envelope's memory, which arrays share. Nil: arrays get memory of their own.
	Keep any
	// Table is told of the references of a value before it is read, and returns the bytes that follow the table.
	Table func(meta []byte) (rest []byte, err error)
	// Assign sets dst to a reference, and reports whether dst can hold one.
	Assign func(dst reflect.Value, r Ref) bool
	// AssignActor sets dst to an actor's handle, and reports whether dst can hold one. Nil: there are no actors.
	AssignActor func(dst reflect.Value, h Handle) (bool, error)
}

// kept gives an array what keeps its memory, or memory of its own.
func (r *Reader) kept(a store.NDArray) store.NDArray {
	if r.Keep == nil {
		return a.Copy()
	}
	return a.Keep(r.Keep)
}

// copied returns an array's values in C order and in the machine's byte order.
func copied(data []byte, shape []int, order byte, size int, swap int) []byte {
	out := slices.Clone(data)
	if order == 'F' && len(shape) > 1 && len(data) > 0 {
		strides := make([]int, len(shape)) // of the source, in elements
		step := 1
		for i, n := range shape {
			strides[i] = step
			step *= n
		}
		at, from := make([]int, len(shape)), 0
		for to := 0; to < len(out); to += size {
			copy(out[to:to+size], data[from*size:])
			for i := len(shape) - 1; i >= 0; i-- {
				at[i]++
				from += strides[i]
				if at[i] < shape[i] {
					break
				}
				from -= at[i] * strides[i]
				at[i] = 0
			}
		}
	}
	if swap > 1 {
		for i := 0; i+swap <= len(out); i += swap {
			slices.Reverse(out[i : i+swap])
		}
	}
	return out
}
