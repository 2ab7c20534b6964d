//go:build eagleray_hot

package main

// #include "kern.h"
import "C"

import (
	"fmt"
	"strconv"
	"unsafe"

	"github.com/eagleray/eagleray/kernels"
	"github.com/eagleray/eagleray/kernels/backend"
)

var errFull = fmt.Errorf("more than %d arrays exist at once", maxChunks*chunkSize)

// device is the one with a number, -1 for the host.
func device(index C.int32_t) (*kernels.Device, error) {
	if index == C.KERN_CPU {
		return kernels.CPU(), nil
	}
	return kernels.Open("cuda:" + strconv.Itoa(int(index)))
}

// lengths are a view's shape and strides, in one allocation.
func lengths(v *C.kern_view) (shape, strides []int) {
	n := int(v.ndim)
	both := make([]int, 2*n)
	for i := range n {
		both[i], both[n+i] = int(v.shape[i]), int(v.strides[i])
	}
	return both[:n:n], both[n:]
}

func viewOf(v *C.kern_view) backend.View {
	shape, strides := lengths(v)
	return backend.View{Ptr: pointer(v.ptr), DType: backend.DType(v.dtype), Shape: shape, Strides: strides}
}

// pointer is memory that Go does not manage.
func pointer(p C.uintptr_t) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// arrayOf is the array behind a handle.
func arrayOf(h C.uint64_t) (*kernels.Array, error) {
	r := held.get(uint64(h))
	if r == nil || r.array == nil {
		return nil, fmt.Errorf("array: %w", kernels.ErrClosed)
	}
	return r.array, nil
}

// giveArray hands a new array to the C side, which owns it from then on.
func giveArray(a *kernels.Array, out *C.kern_view) error {
	h, ok := held.add(&resource{array: a})
	if !ok {
		_ = a.Free()
		return errFull
	}
	view, err := a.View()
	if err != nil {
		held.take(h)
		return err
	}
	out.handle = C.uint64_t(h)
	out.scalar = 0
	out.ptr = C.uintptr_t(uintptr(view.Ptr))
	out.dtype = C.int32_t(view.DType)
	out.ndim = C.int32_t(len(view.Shape))
	out.device = deviceNumber(a.Device())
	out.readonly = 0
	if a.ReadOnly() {
		out.readonly = 1
	}
	for i := range view.Shape {
		out.shape[i], out.strides[i] = C.int64_t(view.Shape[i]), C.int64_t(view.Strides[i])
	}
	return nil
}

func deviceNumber(d *kernels.Device) C.int32_t {
	if d.Host() {
		return C.KERN_CPU
	}
	n, _ := strconv.Atoi(d.Name()[len("cuda:"):]) // the name is Open's
	return C.int32_t(n)
}

func deliver(a *kernels.Array, err error, out *C.kern_view, e *C.kern_err) C.int {
	if err == nil {
		err = giveArray(a, out)
	}
	if err != nil {
		return giveKern(err, e)
	}
	return ok
}

// KernDrop ends a Python object's hold; no error leaves it, as from a finalizer.
//
//export KernDrop
func KernDrop(h C.uint64_t) {
	var e C.kern_err
	var r C.int
	defer guardKern(&e, &r)
	if x := held.take(uint64(h)); x != nil {
		x.close()
	}
}

//export KernFree
func KernFree(h C.uint64_t, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	x := held.get(uint64(h))
	if x == nil || x.array == nil {
		return ok
	}
	if err := x.array.Free(); err != nil {
		return giveKern(err, e)
	}
	return ok
}

//export KernAlias
func KernAlias(h C.uint64_t, out *C.kern_view, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	a, err := arrayOf(h)
	if err == nil {
		a, err = a.Share()
	}
	return deliver(a, err, out, e)
}

//export KernView
func KernView(v, out *C.kern_view, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	a, err := arrayOf(v.handle)
	if err == nil {
		a, err = a.Within(viewOf(v), v.readonly != 0)
	}
	return deliver(a, err, out, e)
}

// KernWrap takes over the owner, a reference to a Python object, in any case.
//
//export KernWrap
func KernWrap(v *C.kern_view, owner C.uintptr_t, out *C.kern_view, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	d, err := device(v.device)
	if err != nil {
		C.kern_release(owner)
		return giveKern(err, e)
	}
	view := viewOf(v)
	size := view.DType.Size()
	for _, n := range view.Shape {
		size *= n
	}
	a, err := kernels.Wrap(d, view, size, v.readonly != 0, func() { C.kern_release(owner) })
	if err != nil {
		C.kern_release(owner)
	}
	return deliver(a, err, out, e)
}

//export KernNew
func KernNew(v, fill *C.kern_view, stream C.uint64_t, out *C.kern_view, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	a, err := newFilled(v, fill)
	return deliver(a, err, out, e)
}

func newFilled(v, fill *C.kern_view) (*kernels.Array, error) {
	d, err := device(v.device)
	if err != nil {
		return nil, err
	}
	shape, _ := lengths(v)
	t := backend.DType(v.dtype)
	if fill == nil {
		return kernels.Empty(d, t, shape...)
	}
	if fill.f == 0 && fill.beyond == 0 {
		return kernels.New(d, t, shape...)
	}
	one, err := number(d, t, fill)
	if err != nil {
		return nil, err
	}
	defer one.Free()
	wide, err := one.Broadcast(shape...)
	if err != nil {
		return nil, err
	}
	defer wide.Free()
	return wide.Copy()
}

// checkNumber reports whether a number of Python's can be an element, by
// numpy's rules: integers must fit, floating point goes into floating point.
func checkNumber(t backend.DType, s *C.kern_view) error {
	if t.Float() {
		return nil
	}
	if s.scalar == C.KERN_FLOAT {
		return &numberError{"dtype", fmt.Sprintf("the number %v is floating point, the array %s: cast the array", float64(s.f), t)}
	}
	n := int64(s.i)
	fits := s.beyond == 0
	switch t {
	case backend.U8:
		fits = fits && n >= 0 && n <= 255
	case backend.I32:
		fits = fits && n == int64(int32(n))
	}
	if !fits {
		return &numberError{"overflow", fmt.Sprintf("the integer %v is out of bounds for %s", float64(s.f), t)}
	}
	return nil
}

// number is an array without dimensions that holds a number of Python's.
func number(d *kernels.Device, t backend.DType, s *C.kern_view) (*kernels.Array, error) {
	if err := checkNumber(t, s); err != nil {
		return nil, err
	}
	f, i := float64(s.f), int64(s.i)
	v := backend.View{Ptr: unsafe.Pointer(&f), DType: backend.F64}
	if !t.Float() {
		v = backend.View{Ptr: unsafe.Pointer(&i), DType: backend.I64}
	}
	a, err := kernels.FromHost(d, v)
	if err != nil || v.DType == t {
		return a, err
	}
	defer a.Free()
	return a.Cast(t)
}
