package core

import (
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/value"
)

// NDArray is a numpy array: element type, shape and order, and memory that Values copies and Use shows.
// Every copy of the struct keeps the memory.
type NDArray = store.NDArray

// Element is a Go type that an array's elements can be seen as.
type Element = store.Element

// NewNDArray returns an array in C order whose memory is data. Without a shape it is one-dimensional.
func NewNDArray[T Element](data []T, shape ...int) (NDArray, error) {
	a, err := store.NewNDArray(data, shape...)
	if err != nil {
		return a, invalid("%v", err)
	}
	return a, nil
}

// RawNDArray returns an array of any dtype of numpy's, such as "|b1" or "<M8[ns]", whose memory is
// data. Order is 'C' or 'F'.
func RawNDArray(dtype string, shape []int, order byte, data []byte) (NDArray, error) {
	a, err := store.RawNDArray(dtype, shape, order, data)
	if err != nil {
		return a, invalid("%v", err)
	}
	return a, nil
}

// Values returns a copy of the elements in C order, whatever the array's order and byte order are. The
// program may write to it. Booleans are read as uint8.
func Values[T Element](a NDArray) ([]T, error) { return value.Values[T](a) }

// Use calls f with the array's own memory, without a copy. The slice is in the array's order, must not
// be used after f has returned, and must not be written to: an array that came from the cluster is
// mapped read-only, and a write to it ends the program with SIGSEGV. Values, and the array's method
// Copy, give memory that can be written to.
func Use[T Element](a NDArray, f func(elements []T) error) error { return store.Use(a, f) }

// UseBytes is Use for an array of any dtype.
func UseBytes(a NDArray, f func(data []byte) error) error { return store.UseBytes(a, f) }
