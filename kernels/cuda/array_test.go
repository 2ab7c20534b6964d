//go:build cuda && cgo

package cuda

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// array is a strided view of memory on the device, and the same on the host.
type array struct {
	backend.View // on the device
	host         backend.View
	raw          []byte
	memory       backend.View // all of it, on the device
}

// element is the host's copy of an element, by its index in C order.
func (a *array) element(i int) []byte {
	p := a.host.Ptr
	for d := len(a.Shape) - 1; d >= 0; d-- {
		p = unsafe.Add(p, i%a.Shape[d]*a.Strides[d])
		i /= a.Shape[d]
	}
	return unsafe.Slice((*byte)(p), a.DType.Size())
}

func (a *array) get(i int) value    { return decode(a.DType, a.element(i)) }
func (a *array) set(i int, v value) { encode(a.DType, a.element(i), v) }
func (a *array) len() int           { return elements(a.Shape) }

// layout says how an array may lie in memory.
type layout int

const (
	packed layout = iota
	strided
	broadcast // some strides are zero
)

// make makes an array of the shape.
func newArray(t testing.TB, d *Device, r *rand.Rand, l layout, dtype backend.DType, shape []int, fill func(*rand.Rand, backend.DType) value) *array {
	t.Helper()
	size := dtype.Size()
	strides, offset, total := contiguous(shape, size), 0, elements(shape)*size
	if l != packed {
		strides, offset, total = scattered(r, l, shape, size)
	}
	raw := make([]byte, max(total, size))
	for i := 0; i < len(raw); i += size {
		encode(dtype, raw[i:], fill(r, dtype))
	}
	n := len(raw) / size
	m := view(t, d, dtype, n)
	a := &array{
		View:   backend.View{Ptr: unsafe.Add(m.Ptr, offset), DType: dtype, Shape: shape, Strides: strides},
		host:   backend.View{Ptr: unsafe.Pointer(&raw[offset]), DType: dtype, Shape: shape, Strides: strides},
		raw:    raw,
		memory: m,
	}
	must(t, d.Upload(nil, m, host(dtype, raw, n)))
	return a
}

// scattered chooses strides: dimensions in any order, with gaps, backwards.
func scattered(r *rand.Rand, l layout, shape []int, size int) (strides []int, offset, total int) {
	strides = make([]int, len(shape))
	step := size
	for _, d := range r.Perm(len(shape)) {
		if l == broadcast && r.IntN(2) == 0 {
			continue
		}
		step *= 1 + r.IntN(4)/3
		strides[d] = step
		step *= max(shape[d], 1)
		if r.IntN(3) == 0 && shape[d] > 0 {
			offset += strides[d] * (shape[d] - 1)
			strides[d] = -strides[d]
		}
	}
	return strides, offset, step
}

// fetch reads the array's memory back, without its elements' being rearranged.
func (a *array) fetch(t testing.TB, d *Device) *array {
	t.Helper()
	back := *a
	back.raw = make([]byte, len(a.raw))
	offset := uintptr(a.host.Ptr) - uintptr(unsafe.Pointer(&a.raw[0]))
	back.host.Ptr = unsafe.Pointer(&back.raw[offset])
	must(t, d.Download(nil, host(a.DType, back.raw, a.memory.Shape[0]), a.memory))
	return &back
}

// shapes of tests: small ones of any rank, empty ones, long ones.
func randomShape(r *rand.Rand, rank int) []int {
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = 1 + r.IntN(5)
		if r.IntN(30) == 0 {
			shape[i] = 0
		}
	}
	if rank > 0 && r.IntN(3) == 0 {
		shape[r.IntN(rank)] = 40 + r.IntN(300)
	}
	for elements(shape) > 3000 {
		shape[r.IntN(rank)] = 1
	}
	return shape
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
