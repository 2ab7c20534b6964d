package kernels

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/eagleray/eagleray/kernels/backend"
)

// maxDims is the most dimensions that an array has.
const maxDims = 32

// block is an allocation. It counts the arrays that show it and the operations
// that use it at this moment.
type block struct {
	mem     backend.Memory
	refs    atomic.Int64
	release func() // nil: mem.Free
}

// retain fails when the last array was freed.
func (b *block) retain() bool {
	for {
		n := b.refs.Load()
		if n == 0 {
			return false
		}
		if b.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (b *block) drop() error {
	if b.refs.Add(-1) != 0 {
		return nil
	}
	err := b.mem.Free()
	if b.release != nil {
		b.release()
	}
	return err
}

// handle is what an Array holds of a block, apart from it so that the
// collector's cleanup can free what a program forgot.
type handle struct {
	block  *block
	closed atomic.Bool
}

func (h *handle) free() error {
	if h.closed.Swap(true) {
		return nil
	}
	return h.block.drop()
}

// Array is a view of elements in a device's memory.
type Array struct {
	h        *handle
	dev      *Device
	view     backend.View
	n        int // elements
	readOnly bool
	stream   *Stream // nil: the device's default
}

// newArray takes over one reference to b.
func newArray(d *Device, b *block, v backend.View, readOnly bool, s *Stream) *Array {
	h := &handle{block: b}
	a := &Array{h: h, dev: d, view: v, n: count(v.Shape), readOnly: readOnly, stream: s}
	runtime.AddCleanup(a, func(h *handle) { _ = h.free() }, h)
	return a
}

// hold keeps the array's memory until release, whoever frees it meanwhile.
func (a *Array) hold(op string) error {
	if a == nil {
		return fmt.Errorf("%s: the array is nil: %w", op, ErrClosed)
	}
	if a.h.closed.Load() || !a.h.block.retain() {
		return fmt.Errorf("%s: array %s: %w", op, a.describe(), ErrClosed)
	}
	return nil
}

// done ends hold. The array itself must outlive the work, or its cleanup could
// run first.
func (a *Array) done() {
	_ = a.h.block.drop() // freeing was the other's wish: the device reports it on its next call
	runtime.KeepAlive(a)
}

func (a *Array) describe() string {
	return fmt.Sprintf("%s%v on %s", a.view.DType, a.view.Shape, a.dev.name)
}

// Device is where the elements are.
func (a *Array) Device() *Device { return a.dev }

// DType is the elements' type.
func (a *Array) DType() DType { return a.view.DType }

// Shape is the length of each dimension; the caller does not change it.
func (a *Array) Shape() []int { return a.view.Shape }

// Strides are in bytes; the caller does not change them.
func (a *Array) Strides() []int { return a.view.Strides }

// Len is the number of elements.
func (a *Array) Len() int { return a.n }

// NBytes is the size of the elements, without gaps between them.
func (a *Array) NBytes() int { return a.n * a.view.DType.Size() }

// ReadOnly reports whether writing to the array is an error.
func (a *Array) ReadOnly() bool { return a.readOnly }

// Contiguous reports whether the elements lie in C order without gaps.
func (a *Array) Contiguous() bool { return a.n == 0 || contiguous(a.view) }

// Stream is the stream that the array is bound to, nil for the default one.
func (a *Array) Stream() *Stream { return a.stream }

// queue is the stream that work on the array goes to. A stream that was closed
// has done its work, and its arrays live on: theirs is the default one then.
func (a *Array) queue() *Stream {
	if a.stream != nil && a.stream.closed.Load() {
		return nil
	}
	return a.stream
}

// Closed reports whether Free was called.
func (a *Array) Closed() bool { return a.h.closed.Load() }

// View is the array's memory, valid until Free: for pointers that are handed
// to other libraries. Work that is queued may still be writing.
func (a *Array) View() (backend.View, error) {
	if a.Closed() {
		return backend.View{}, fmt.Errorf("view: array %s: %w", a.describe(), ErrClosed)
	}
	return a.view, nil
}

// Memory is the allocation that holds the array, valid until Free.
func (a *Array) Memory() (backend.Memory, error) {
	if a.Closed() {
		return nil, fmt.Errorf("memory: array %s: %w", a.describe(), ErrClosed)
	}
	return a.h.block.mem, nil
}

// Free gives up this view. The memory goes back with the last view, after the
// work that uses it. A second Free does nothing.
func (a *Array) Free() error {
	err := a.h.free()
	runtime.KeepAlive(a)
	return err
}
