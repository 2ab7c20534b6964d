package cpu

/*
#cgo CFLAGS: -std=gnu11 -O3 -Wall -Wextra
#cgo noescape cpu_map
#cgo nocallback cpu_map
#cgo noescape cpu_copy
#cgo nocallback cpu_copy
#cgo noescape cpu_reduce
#cgo nocallback cpu_reduce
#cgo noescape cpu_softmax
#cgo nocallback cpu_softmax
#cgo noescape cpu_matmul
#cgo nocallback cpu_matmul
#cgo nocallback cpu_dot
#include "cpu.h"
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Backend is the processor: one device.
func Backend() backend.Backend { return processor{} }

type processor struct{}

func (processor) Name() string        { return "cpu" }
func (processor) Count() (int, error) { return 1, nil }
func (processor) Open(index int) (backend.Device, error) {
	if index != 0 {
		return nil, &backend.UnsupportedError{Device: "cpu", What: fmt.Sprintf("opening device %d", index), Why: "there is one, number 0"}
	}
	return device{}, nil
}

// instructions are the names of the instruction sets that this processor has,
// best first; the first is in use.
var instructions = found()

func found() (names []string) {
	for set := range 3 {
		if name := C.cpu_use(C.int(set)); name != nil {
			names = append(names, C.GoString(name))
		}
	}
	Use(names[0])
	return names
}

// Instructions are the names of the instruction sets that this processor has
// code for, best first. The first is used.
func Instructions() []string { return slices.Clone(instructions) }

// Use switches to another instruction set, for comparisons. No operation may
// run meanwhile. It reports whether the processor has it.
func Use(name string) bool {
	for set := range 3 {
		if got := C.cpu_use(C.int(set)); got != nil && C.GoString(got) == name {
			return true
		}
	}
	return false
}

// device is the processor. Every View in its memory, or in the host's, is an
// address of this process.
type device struct{}

func (device) Info() (backend.Info, error) {
	free, total := available()
	return backend.Info{Name: model() + ", " + instructions[0], TotalMemory: total, FreeMemory: free}, nil
}

func model() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // absent elsewhere
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func (device) Synchronize() error { return nil }

func (d device) Upload(s backend.Stream, dst, src backend.View) error { return d.Copy(s, dst, src) }

func (d device) Download(s backend.Stream, dst, src backend.View) error { return d.Copy(s, dst, src) }

// ints passes lengths or strides to C. The types are the same on the 64-bit
// machines that the C is made for, which the next line holds.
func ints(s []int) *C.int64_t { return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(s))) }

var _ = [1]struct{}{}[unsafe.Sizeof(int(0))-8]

func addr(v backend.View) C.uintptr_t { return C.uintptr_t(uintptr(v.Ptr)) }

// failed is the only way in which the C fails: scratch memory.
func failed(code C.int) error {
	if code == 0 {
		return nil
	}
	return outOfMemory(0)
}

func (device) Copy(_ backend.Stream, dst, src backend.View) error {
	code := C.cpu_copy(C.int(dst.DType), C.int(src.DType), C.int(len(dst.Shape)), ints(dst.Shape),
		addr(dst), ints(dst.Strides), addr(src), ints(src.Strides))
	keep(dst, src)
	return failed(code)
}

// keep is for host memory that the collector manages.
func keep(a, b backend.View) {
	runtime.KeepAlive(a.Ptr)
	runtime.KeepAlive(b.Ptr)
}

func (device) Map(_ backend.Stream, p backend.Program, out backend.View, in ...backend.View) error {
	var ptrSpace [4]uintptr
	var strideSpace [16]int
	ptrs := append(ptrSpace[:0], uintptr(out.Ptr))
	strides := append(strideSpace[:0], out.Strides...)
	for _, v := range in {
		ptrs = append(ptrs, uintptr(v.Ptr))
		strides = append(strides, v.Strides...)
	}
	code := C.cpu_map(C.int(out.DType), C.int(len(out.Shape)), ints(out.Shape), C.int(len(ptrs)),
		(*C.uintptr_t)(unsafe.Pointer(unsafe.SliceData(ptrs))), ints(strides), C.int(len(p)), (*C.step)(unsafe.Pointer(unsafe.SliceData(p))))
	runtime.KeepAlive(out.Ptr)
	runtime.KeepAlive(in)
	return failed(code)
}

func (device) Reduce(_ backend.Stream, op backend.ReduceOp, out, in backend.View, axis int) error {
	strides := make([]int, len(in.Shape))
	if axis >= 0 {
		copy(strides, out.Strides[:axis])
		copy(strides[axis+1:], out.Strides[axis:])
	}
	code := C.cpu_reduce(C.int(op), C.int(out.DType), C.int(in.DType), C.int(len(in.Shape)), ints(in.Shape), C.int(axis),
		addr(out), ints(strides), addr(in), ints(in.Strides))
	keep(out, in)
	return failed(code)
}

func (device) Dot(_ backend.Stream, out, a, b backend.View) error {
	code := C.cpu_dot(C.int(out.DType), C.int64_t(a.Shape[0]), addr(out), addr(a), C.int64_t(a.Strides[0]), addr(b), C.int64_t(b.Strides[0]))
	keep(a, b)
	keep(out, out)
	return failed(code)
}

func (device) MatMul(_ backend.Stream, out, a, b backend.View) error {
	mnk := [3]int{a.Shape[0], b.Shape[1], a.Shape[1]}
	strides := [6]int{out.Strides[0], out.Strides[1], a.Strides[0], a.Strides[1], b.Strides[0], b.Strides[1]}
	code := C.cpu_matmul(C.int(out.DType), ints(mnk[:]), addr(out), addr(a), addr(b), ints(strides[:]))
	keep(a, b)
	keep(out, out)
	return failed(code)
}

func (device) Softmax(_ backend.Stream, out, in backend.View, axis int) error {
	code := C.cpu_softmax(C.int(out.DType), C.int(len(in.Shape)), ints(in.Shape), C.int(axis), addr(out), ints(out.Strides),
		addr(in), ints(in.Strides))
	keep(out, in)
	return failed(code)
}

func (device) Compile(_, name string, _ []string) (backend.Function, error) {
	return nil, &backend.UnsupportedError{Device: "cpu", What: "compiling kernel " + name,
		Why: "kernels of your own are CUDA C and need a CUDA device; on the CPU, fuse steps or write Go or numpy"}
}

func (device) Export(backend.Memory) ([]byte, error) { return nil, notShared }

func (device) Import([]byte, int) (backend.Memory, error) { return nil, notShared }

var notShared = &backend.UnsupportedError{Device: "cpu", What: "sharing memory with another process",
	Why: "it is private; put the array into the object store"}

// stepLayout is where the fields of a step lie in Go and in C, and its size.
func stepLayout() (inGo, inC [5]uintptr) {
	var g backend.Step
	var c C.step
	return [5]uintptr{unsafe.Offsetof(g.Op), unsafe.Offsetof(g.S), unsafe.Offsetof(g.T), unsafe.Offsetof(g.In), unsafe.Sizeof(g)},
		[5]uintptr{unsafe.Offsetof(c.op), unsafe.Offsetof(c.s), unsafe.Offsetof(c.t), unsafe.Offsetof(c.in), unsafe.Sizeof(c)}
}
