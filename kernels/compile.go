package kernels

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Kernel is a function of the user's own CUDA C, compiled for one device.
type Kernel struct {
	name   string
	dev    *Device
	params []param // nil: not known

	mu     sync.RWMutex // Close waits for launches
	fn     backend.Function
	closed bool
}

// Compile compiles CUDA C for a device and finds the __global__ function with
// a name. Options are the compiler's, such as -use_fast_math. A *CompileError
// has its log. The cpu device compiles nothing: *UnsupportedError.
func Compile(d *Device, source, name string, options ...string) (*Kernel, error) {
	if d == nil {
		return nil, &DeviceError{"compile", "the device is nil"}
	}
	fn, err := d.back.Compile(source, name, options)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", name, err)
	}
	return &Kernel{name: name, dev: d, params: signature(source, name), fn: fn}, nil
}

// Name is the function's name.
func (k *Kernel) Name() string { return k.name }

// Device is the device that the kernel was compiled for.
func (k *Kernel) Device() *Device { return k.dev }

// What CUDA allows along each axis, on every device.
var (
	mostBlocks  = [3]int{math.MaxInt32, 65535, 65535}
	mostThreads = [3]int{1024, 1024, 64}
)

// mostShared is more than any device has: a larger number is a mistake, and
// one beyond 32 bits would not reach the driver.
const mostShared = 1 << 24

// Launch queues the kernel on a stream, nil for the default one. grid is in
// blocks, block in threads, shared in bytes for each block. An argument is an
// *Array, which becomes the address of its first element, or a Go number. Go
// numbers take the type of their parameter; an integer that the parameter's
// type has not, or floating point for an integer, is an *ArgumentError, as is
// an array of another type than the pointer's. Where the source's parameters
// cannot be parsed (templates, types of its own), numbers keep their Go type
// and int is 64 bits wide. The kernel is trusted to stay within its arrays.
func (k *Kernel) Launch(s *Stream, grid, block [3]int, shared int, args ...any) error {
	if k.params != nil && len(args) != len(k.params) {
		return &ArgumentError{k.name, -1, fmt.Sprintf("%d arguments for %d parameters", len(args), len(k.params))}
	}
	for i := range 3 {
		if grid[i] < 1 || grid[i] > mostBlocks[i] || block[i] < 1 || block[i] > mostThreads[i] {
			return &ArgumentError{k.name, -1, fmt.Sprintf("grid %v with blocks of %v; every length is at least 1, at most %v blocks and %v threads",
				grid, block, mostBlocks, mostThreads)}
		}
	}
	if block[0]*block[1]*block[2] > 1024 {
		return &ArgumentError{k.name, -1, fmt.Sprintf("a block of %v has more than 1024 threads", block)}
	}
	if shared < 0 || shared > mostShared {
		return &ArgumentError{k.name, -1, fmt.Sprintf("%d bytes of shared memory; no device has more than %d", shared, mostShared)}
	}
	var queue backend.Stream
	if s != nil {
		if s.dev != k.dev {
			return &DeviceError{"launch " + k.name, fmt.Sprintf("the kernel is on %s, the stream on %s", k.dev.name, s.dev.name)}
		}
		if err := s.check("launch " + k.name); err != nil {
			return err
		}
		queue = s.back
	}
	values := make([]uint64, len(args)) // the arguments' bytes, little end first
	pointers := make([]unsafe.Pointer, len(args))
	var held []*Array
	defer func() { end(nil, held...) }()
	for i, arg := range args {
		var want param
		if k.params != nil {
			want = k.params[i]
		}
		a, isArray := arg.(*Array)
		if !isArray {
			bits, err := want.number(arg)
			if err != nil {
				return &ArgumentError{k.name, i, err.Error()}
			}
			values[i] = bits
		} else if err := a.hold("launch " + k.name); err != nil {
			return err
		} else {
			held = append(held, a) // until the work is queued
			if err := k.accept(want, a, i); err != nil {
				return err
			}
			values[i] = uint64(uintptr(a.view.Ptr))
			if from := a.queue(); from != nil && s != nil && from != s {
				if err := s.after(from); err != nil {
					return err
				}
			}
		}
		pointers[i] = unsafe.Pointer(&values[i])
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.closed {
		return fmt.Errorf("launch %s: kernel: %w", k.name, ErrClosed)
	}
	err := k.fn.Launch(queue, grid, block, shared, pointers)
	runtime.KeepAlive(values)
	if err != nil {
		return fmt.Errorf("launch %s: %w", k.name, err)
	}
	return nil
}

// accept checks an array against its parameter.
func (k *Kernel) accept(want param, a *Array, i int) error {
	if a.dev != k.dev {
		return &DeviceError{"launch " + k.name, fmt.Sprintf("the kernel is on %s, argument %d on %s", k.dev.name, i, a.dev.name)}
	}
	switch {
	case want.kind == kindUnknown:
		return nil
	case want.kind != kindPointer:
		return &ArgumentError{k.name, i, fmt.Sprintf("an array for the parameter %q", want.text)}
	case want.elem != 0 && want.elem != a.view.DType:
		return &ArgumentError{k.name, i, fmt.Sprintf("an array of %s for the parameter %q; cast it", a.view.DType, want.text)}
	case !want.constant && a.readOnly:
		return fmt.Errorf("launch %s: argument %d: %w", k.name, i, ErrReadOnly)
	}
	return nil
}

// Close unloads the kernel. A second Close does nothing.
func (k *Kernel) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	return k.fn.Close()
}

// number returns the bytes of a Go number as the parameter's type.
func (p param) number(arg any) (uint64, error) {
	v := reflect.ValueOf(arg)
	switch {
	case !v.IsValid():
		return 0, fmt.Errorf("nil is neither an array nor a number")
	case p.kind == kindPointer:
		return 0, fmt.Errorf("a %T for the parameter %q, which takes an array", arg, p.text)
	case v.CanInt():
		return p.integer(v.Int(), v.Int() < 0, uint64(v.Int()), v.Type())
	case v.CanUint():
		u := v.Uint()
		return p.integer(int64(u), false, u, v.Type())
	case v.CanFloat():
		return p.floating(v.Float(), v.Type())
	case v.Kind() == reflect.Bool:
		if p.kind != kindUnknown && p.kind != kindBool {
			return 0, fmt.Errorf("a bool for the parameter %q", p.text)
		}
		if v.Bool() {
			return 1, nil
		}
		return 0, nil
	}
	return 0, fmt.Errorf("a %T is neither an array nor a number", arg)
}

func (p param) integer(i int64, negative bool, u uint64, t reflect.Type) (uint64, error) {
	switch p.kind {
	case kindUnknown:
		return u, nil
	case kindFloat:
		if negative {
			return floatBits(float64(i), p.size), nil
		}
		return floatBits(float64(u), p.size), nil
	case kindInt:
		lo := int64(-1) << (8*p.size - 1)
		if i >= lo && i <= -(lo+1) && (negative || u == uint64(i)) && (negative || i >= 0) {
			return u, nil
		}
	case kindUint:
		if !negative && (p.size == 8 || u>>(8*p.size) == 0) {
			return u, nil
		}
	case kindBool:
		if u <= 1 {
			return u, nil
		}
	}
	if negative {
		return 0, fmt.Errorf("%d (%s) does not fit the parameter %q", i, t, p.text)
	}
	return 0, fmt.Errorf("%d (%s) does not fit the parameter %q", u, t, p.text)
}

func (p param) floating(f float64, t reflect.Type) (uint64, error) {
	switch p.kind {
	case kindUnknown:
		return floatBits(f, int(t.Size())), nil
	case kindFloat:
		return floatBits(f, p.size), nil
	}
	return 0, fmt.Errorf("%v (%s) for the parameter %q, which takes an integer", f, t, p.text)
}

func floatBits(f float64, size int) uint64 {
	if size == 4 {
		return uint64(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}
