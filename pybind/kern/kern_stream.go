//go:build eagleray_hot

package main

// #include "kern.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/eagleray/eagleray/kernels"
	"github.com/eagleray/eagleray/kernels/backend"
	"github.com/eagleray/eagleray/kernels/cuda"
)

// KernStream does what the number asks for; x and y are resources. It makes a
// resource, or answers a number.
//
//export KernStream
func KernStream(what C.int, index C.int, x, y C.uint64_t, made *C.uint64_t, value *C.double, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	out, n, err := streams(what, C.int32_t(index), held.get(uint64(x)), held.get(uint64(y)))
	if err != nil {
		return giveKern(err, e)
	}
	*value = C.double(n)
	if out == nil {
		return ok
	}
	h, fits := held.add(out)
	if !fits {
		out.close()
		return giveKern(errFull, e)
	}
	*made = C.uint64_t(h)
	return ok
}

func streams(what C.int, index C.int32_t, x, y *resource) (*resource, float64, error) {
	switch what {
	case C.KERN_STREAM_NEW, C.KERN_DEVICE_SYNC:
		d, err := device(index)
		if err != nil {
			return nil, 0, err
		}
		if what == C.KERN_DEVICE_SYNC {
			return nil, 0, d.Synchronize()
		}
		s, err := d.NewStream()
		if err != nil {
			return nil, 0, err
		}
		return &resource{stream: s}, 0, nil
	case C.KERN_EVENT_RECORD:
		return record(index, x)
	}
	if x == nil {
		return nil, 0, kernels.ErrClosed
	}
	switch {
	case x.stream != nil:
		return nil, native(what, x.stream), onStream(what, x.stream, y)
	case x.event != nil:
		n, err := onEvent(what, x.event, y)
		return nil, n, err
	case x.kernel != nil && what == C.KERN_KERNEL_CLOSE:
		return nil, 0, x.kernel.Close()
	}
	return nil, 0, fmt.Errorf("operation %d is not known", int(what))
}

func record(index C.int32_t, on *resource) (*resource, float64, error) {
	var event *kernels.Event
	var err error
	if on != nil && on.stream != nil {
		event, err = on.stream.Record()
	} else {
		var d *kernels.Device
		if d, err = device(index); err == nil {
			event, err = d.Record()
		}
	}
	if err != nil {
		return nil, 0, err
	}
	return &resource{event: event}, 0, nil
}

func native(what C.int, s *kernels.Stream) float64 {
	if what != C.KERN_STREAM_NATIVE {
		return 0
	}
	return float64(s.Native()) // user space addresses have 47 bits
}

func onStream(what C.int, s *kernels.Stream, y *resource) error {
	switch what {
	case C.KERN_STREAM_SYNC:
		return s.Synchronize()
	case C.KERN_STREAM_CLOSE:
		return s.Close()
	case C.KERN_STREAM_WAIT:
		if y == nil || y.event == nil {
			return fmt.Errorf("event: %w", kernels.ErrClosed)
		}
		return s.Wait(y.event)
	}
	return nil
}

func onEvent(what C.int, event *kernels.Event, y *resource) (float64, error) {
	switch what {
	case C.KERN_EVENT_SYNC:
		return 0, event.Synchronize()
	case C.KERN_EVENT_CLOSE:
		return 0, event.Close()
	case C.KERN_EVENT_DONE:
		done, err := event.Done()
		if done {
			return 1, err
		}
		return 0, err
	case C.KERN_EVENT_SINCE:
		if y == nil || y.event == nil {
			return 0, fmt.Errorf("earlier event: %w", kernels.ErrClosed)
		}
		return event.Since(y.event)
	}
	return 0, fmt.Errorf("operation %d is not one of events", int(what))
}

// KernCount is how many CUDA devices there are; why, malloc, says why none.
//
//export KernCount
func KernCount(why **C.char) (n C.int) {
	var e C.kern_err
	var r C.int
	defer guardKern(&e, &r)
	count, err := cuda.Backend().Count()
	if err != nil {
		*why = C.CString(err.Error())
		return 0
	}
	return C.int(count)
}

// KernDeviceBytes is what this process's arrays hold of CUDA devices.
//
//export KernDeviceBytes
func KernDeviceBytes() C.int64_t { return C.int64_t(cuda.DeviceBytes()) }

// KernSearch names a folder of Python's packages, where NVIDIA's libraries may be.
//
//export KernSearch
func KernSearch(folder *C.char) { cuda.SearchPath(C.GoString(folder)) }

//export KernDescribe
func KernDescribe(index C.int, name, uuid **C.char, numbers *C.int64_t, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	d, err := device(C.int32_t(index))
	if err != nil {
		return giveKern(err, e)
	}
	info, err := d.Info()
	if err != nil {
		return giveKern(err, e)
	}
	*name, *uuid = C.CString(info.Name), C.CString(info.UUID)
	out := unsafe.Slice(numbers, 4)
	out[0], out[1] = C.int64_t(info.TotalMemory), C.int64_t(info.FreeMemory)
	out[2], out[3] = C.int64_t(info.Capability[0]), C.int64_t(info.Capability[1])
	return ok
}

//export KernCompile
func KernCompile(index C.int, source, name *C.char, options **C.char, n C.int, made *C.uint64_t, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	d, err := device(C.int32_t(index))
	if err != nil {
		return giveKern(err, e)
	}
	var flags []string
	for _, o := range unsafe.Slice(options, int(n)) {
		flags = append(flags, C.GoString(o))
	}
	k, err := kernels.Compile(d, C.GoString(source), C.GoString(name), flags...)
	if err != nil {
		return giveKern(err, e)
	}
	h, fits := held.add(&resource{kernel: k})
	if !fits {
		_ = k.Close()
		return giveKern(errFull, e)
	}
	*made = C.uint64_t(h)
	return ok
}

//export KernLaunch
func KernLaunch(kernel, stream C.uint64_t, grid, block *C.int64_t, shared C.int64_t, args **C.kern_view, n C.int, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	x := held.get(uint64(kernel))
	if x == nil || x.kernel == nil {
		return giveKern(fmt.Errorf("kernel: %w", kernels.ErrClosed), e)
	}
	o, err := newOperands(stream)
	if err != nil {
		return giveKern(err, e)
	}
	values := make([]any, int(n))
	for i, v := range unsafe.Slice(args, int(n)) {
		if values[i], err = argument(v); err != nil {
			return giveKern(fmt.Errorf("argument %d: %w", i, err), e)
		}
	}
	if err := x.kernel.Launch(o.stream, three(grid), three(block), int(shared), values...); err != nil {
		return giveKern(err, e)
	}
	runtime.KeepAlive(x)
	return ok
}

func three(p *C.int64_t) (out [3]int) {
	for i, n := range unsafe.Slice(p, 3) {
		out[i] = int(n)
	}
	return out
}

// argument is an array, or a number: Python's own in Go's widest type, numpy's in its own.
func argument(v *C.kern_view) (any, error) {
	if v.scalar == 0 {
		return arrayOf(v.handle)
	}
	if v.beyond != 0 {
		return nil, &numberError{"overflow", "the integer has more than 64 bits"}
	}
	f, i := float64(v.f), int64(v.i)
	switch backend.DType(v.dtype) {
	case backend.F32:
		return float32(f), nil
	case backend.I32:
		return int32(i), nil
	case backend.U8:
		return uint8(i), nil
	}
	if v.scalar == C.KERN_FLOAT {
		return f, nil
	}
	return i, nil
}
