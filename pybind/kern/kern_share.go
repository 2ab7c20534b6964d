//go:build eagleray_hot

package main

// #include <string.h>
// #include "kern.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/eagleray/eagleray/kernels"
	"github.com/eagleray/eagleray/kernels/cuda"
)

// KernExport gives the handle by which another process on this node reaches
// the memory of an array on a CUDA device: at most room bytes, the memory's
// size, and where in it the array begins.
//
//export KernExport
func KernExport(h C.uint64_t, handle *C.uchar, room C.int, n *C.int, size, offset *C.int64_t, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	a, err := arrayOf(h)
	if err != nil {
		return giveKern(err, e)
	}
	if a, err = a.Share(); err != nil { // holds it
		return giveKern(err, e)
	}
	defer a.Free()
	memory, err := a.Memory()
	if err != nil {
		return giveKern(err, e)
	}
	view, err := a.View()
	if err != nil {
		return giveKern(err, e)
	}
	bytes, err := a.Device().Backend().Export(memory)
	if err != nil {
		return giveKern(err, e)
	}
	if len(bytes) > int(room) {
		return giveKern(fmt.Errorf("a handle of %d bytes", len(bytes)), e)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(handle)), len(bytes)), bytes)
	*n = C.int(len(bytes))
	*size = C.int64_t(memory.Size())
	*offset = C.int64_t(int64(uintptr(view.Ptr)) - int64(uintptr(memory.Ptr())))
	return ok
}

// KernKeep keeps an array's memory for as long as an object of this process is
// held anywhere.
//
//export KernKeep
func KernKeep(h C.uint64_t, object *C.uchar, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	c, err := current()
	if err != nil {
		return giveKern(err, e)
	}
	a, err := arrayOf(h)
	if err == nil {
		a, err = a.Share()
	}
	if err != nil {
		return giveKern(err, e)
	}
	if err := c.Keep(objectID(object), func() { _ = a.Free() }); err != nil {
		_ = a.Free()
		return giveKern(err, e)
	}
	return ok
}

// KernImport makes an array of memory that another process exported. v.ptr is
// the offset in it. It takes over the owner in any case.
//
//export KernImport
func KernImport(handle *C.uchar, n C.int, size C.int64_t, v *C.kern_view, owner C.uintptr_t, out *C.kern_view, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	a, err := imported(C.GoBytes(unsafe.Pointer(handle), n), int(size), v, owner)
	if err != nil {
		C.kern_release(owner)
	}
	return deliver(a, err, out, e)
}

func imported(handle []byte, size int, v *C.kern_view, owner C.uintptr_t) (*kernels.Array, error) {
	count, err := cuda.Backend().Count()
	if err != nil {
		return nil, err
	}
	err = &kernels.UnsupportedError{Device: "cuda", What: "importing memory", Why: "this process sees no device"}
	for i := range count {
		d, openErr := device(C.int32_t(i))
		if openErr != nil {
			return nil, openErr
		}
		memory, importErr := d.Backend().Import(handle, size)
		if importErr != nil {
			err = importErr
			var other *kernels.UnsupportedError
			if errors.As(err, &other) {
				continue // perhaps it is another device's
			}
			return nil, err
		}
		view := viewOf(v)
		view.Ptr = unsafe.Add(memory.Ptr(), int(int64(v.ptr)))
		a, err := kernels.Wrap(d, view, size, true, func() {
			_ = memory.Free()
			C.kern_release(owner)
		})
		if err != nil {
			_ = memory.Free()
		}
		return a, err
	}
	return nil, err
}
