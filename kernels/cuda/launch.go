//go:build cuda && cgo

package cuda

// #include "shim.h"
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
)

// threads is the size of a block of every kernel but matmul's.
const threads = 256

// shortRow is how many elements one thread works through rather than a block.
const shortRow = 48

// kernel finds an embedded kernel, and loads the module that has it when it is
// the first one of that.
func (d *Device) kernel(source string, suffix string) (uintptr, error) {
	key := [2]string{source, suffix}
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.kernels[key]; f != 0 {
		return f, nil
	}
	name := source + "_" + suffix
	file := sourceOf(source) + "_" + suffix
	var f cu.Function
	err := d.do("loading the kernels "+file, func() (err error) {
		m, ok := d.modules[file]
		if !ok {
			text, err := ptx(file)
			if err != nil {
				return err
			}
			if m, err = cu.LoadData(text); err != nil {
				return err
			}
			d.modules[file] = m
		}
		f, err = m.Function(name)
		return err
	})
	if err != nil {
		return 0, err
	}
	d.kernels[key] = handle(f)
	return handle(f), nil
}

// sourceOf is the source that has the kernel.
func sourceOf(kernel string) string {
	switch kernel {
	case "rows", "rowsf", "columns", "columnsf", "dot":
		return "reduce"
	case "softmaxs":
		return "softmax"
	}
	return kernel
}

// blocks is how many blocks to start for so many threads' work. Kernels loop,
// so there need not be one thread for each element.
func (d *Device) blocks(work int) int {
	n := (work + threads - 1) / threads
	return max(1, min(n, d.processors*32))
}

// launch queues a kernel that takes one struct. It holds no pointers of Go's.
func (d *Device) launch(s backend.Stream, kernel, suffix string, blocks int, params unsafe.Pointer) error {
	f, err := d.kernel(kernel, suffix)
	if err != nil {
		return err
	}
	return d.use(s, func(on cu.Stream) error {
		code := C.er_launch_one(C.uintptr_t(handle(d.context)), C.uintptr_t(f), C.uint(blocks), threads, C.uintptr_t(handle(on)), params)
		return failure(d.name, "launching "+kernel+"_"+suffix, check(code))
	})
}

// Suffixes of kernels, by data type.
var suffixes = [...]string{backend.F16: "f16", backend.BF16: "bf16", backend.F32: "f32", backend.F64: "f64",
	backend.I32: "i32", backend.I64: "i64", backend.U8: "u8"}
