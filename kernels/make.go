package kernels

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// New makes an array of zeros. Without a shape it has one element and no
// dimension.
func New(d *Device, t DType, shape ...int) (*Array, error) {
	a, err := Empty(d, t, shape...)
	if err != nil || a.n == 0 {
		return a, err
	}
	zero := backend.View{Ptr: d.zeros.Ptr(), DType: t, Shape: a.view.Shape, Strides: make([]int, len(shape))}
	if err := d.back.Copy(nil, a.view, zero); err != nil {
		_ = a.Free()
		return nil, fmt.Errorf("new: %w", err)
	}
	return a, nil
}

// Empty makes an array whose elements are not set.
func Empty(d *Device, t DType, shape ...int) (*Array, error) { return empty("new", d, t, shape, nil) }

func empty(op string, d *Device, t DType, shape []int, s *Stream) (*Array, error) {
	if d == nil {
		return nil, &DeviceError{op, "the device is nil"}
	}
	v := backend.View{DType: t}
	size, err := checkShape(op, t, shape)
	if err != nil {
		return nil, err
	}
	v.Shape, v.Strides = packed(t, shape)
	mem, err := d.back.Alloc(max(size, 1)) // empty arrays too have memory of their own
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	v.Ptr = mem.Ptr()
	b := &block{mem: mem}
	b.refs.Store(1)
	return newArray(d, b, v, false, s), nil
}

// checkShape returns the size in bytes.
func checkShape(op string, t DType, shape []int) (int, error) {
	if !t.Valid() {
		return 0, dtypeErr(op, "%v is no data type", t)
	}
	if len(shape) > maxDims {
		return 0, shapeErr(op, "%d dimensions; an array has at most %d", len(shape), maxDims)
	}
	size := t.Size()
	none := false
	for _, n := range shape {
		if n < 0 {
			return 0, shapeErr(op, "shape %v has a negative length", shape)
		}
		none = none || n == 0
	}
	if none {
		return 0, nil
	}
	for _, n := range shape {
		if size > math.MaxInt/n {
			return 0, shapeErr(op, "shape %v is larger than any memory", shape)
		}
		size *= n
	}
	return size, nil
}

// FromHost copies elements from host memory. v's memory may be changed after
// the call.
func FromHost(d *Device, v backend.View) (*Array, error) {
	if err := checkView("from host", v); err != nil {
		return nil, err
	}
	a, err := empty("from host", d, v.DType, v.Shape, nil)
	if err != nil {
		return nil, err
	}
	if err := a.CopyFrom(v); err != nil {
		_ = a.Free()
		return nil, err
	}
	return a, nil
}

// Wrap makes an array of size bytes of memory at v that somebody else
// allocated on the device. release, if not nil, runs once, when the last view
// was freed. On an error the memory stays the caller's and release does not run.
func Wrap(d *Device, v backend.View, size int, readOnly bool, release func()) (*Array, error) {
	if d == nil {
		return nil, &DeviceError{"wrap", "the device is nil"}
	}
	if err := checkView("wrap", v); err != nil {
		return nil, err
	}
	shape, strides := clone(v.Shape, v.Strides)
	b := &block{mem: d.back.Adopt(v.Ptr, size), release: release}
	b.refs.Store(1)
	own := backend.View{Ptr: v.Ptr, DType: v.DType, Shape: shape, Strides: strides}
	return newArray(d, b, own, readOnly, nil), nil
}

func checkView(op string, v backend.View) error {
	if _, err := checkShape(op, v.DType, v.Shape); err != nil {
		return err
	}
	if len(v.Strides) != len(v.Shape) {
		return shapeErr(op, "shape %v and strides %v differ in length", v.Shape, v.Strides)
	}
	if v.Ptr == nil && count(v.Shape) > 0 {
		return shapeErr(op, "the pointer of %d elements is nil", count(v.Shape))
	}
	return nil
}

// FromSlice copies a slice to a device. Without a shape the array has one
// dimension.
func FromSlice[T Element](d *Device, s []T, shape ...int) (*Array, error) {
	if len(shape) == 0 {
		shape = []int{len(s)}
	}
	if n := count(shape); n != len(s) {
		return nil, shapeErr("from slice", "shape %v has %d elements, the slice %d", shape, n, len(s))
	}
	t := DTypeOf[T]()
	v := backend.View{Ptr: unsafe.Pointer(unsafe.SliceData(s)), DType: t}
	v.Shape, v.Strides = packed(t, shape)
	a, err := FromHost(d, v)
	runtime.KeepAlive(s)
	return a, err
}

// ToSlice copies an array to the host, in C order.
func ToSlice[T Element](a *Array) ([]T, error) {
	t := DTypeOf[T]()
	if a.view.DType != t {
		return nil, dtypeErr("to slice", "the array is %s, the slice %s; cast the array", a.view.DType, t)
	}
	s := make([]T, a.n)
	v := backend.View{Ptr: unsafe.Pointer(unsafe.SliceData(s)), DType: t}
	v.Shape, v.Strides = packed(t, a.view.Shape)
	err := a.CopyTo(v)
	runtime.KeepAlive(s)
	if err != nil {
		return nil, err
	}
	return s, nil
}
