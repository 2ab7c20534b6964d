//go:build cuda && cgo

package cuda

// #include <stdlib.h>
// #include "library.h"
// #include "shim.h"
import "C"

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
)

// nvrtc opens the run-time compiler, once it can be found. NVRTC's calls may
// come from any thread.
var nvrtc struct {
	sync.Mutex
	open bool
}

func openNVRTC(device string) error {
	nvrtc.Lock()
	defer nvrtc.Unlock()
	if nvrtc.open {
		return nil
	}
	why := ""
	for _, path := range candidates("EAGLERAY_NVRTC", "libnvrtc.so.12", "cuda_nvrtc") {
		builtins := ""
		if found, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "libnvrtc-builtins.so.12.*")); len(found) > 0 {
			builtins = found[0]
		}
		if why = opened(path, func(p *C.char) *C.char {
			b := C.CString(builtins)
			defer C.free(unsafe.Pointer(b))
			return C.er_nvrtc_open(p, b)
		}); why == "" {
			nvrtc.open = true
			return nil
		}
	}
	return &backend.UnsupportedError{Device: device, What: "compiling a kernel", Why: "it takes NVRTC, which cannot be loaded (" + why +
		"); pip install nvidia-cuda-nvrtc-cu12, or set EAGLERAY_NVRTC to the path of libnvrtc.so.12"}
}

// opened calls one of the functions that open a library; "" is success.
func opened(path string, open func(*C.char) *C.char) string {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	why := open(p)
	defer C.free(unsafe.Pointer(why))
	if why == nil {
		return ""
	}
	return C.GoString(why)
}

// Compile compiles CUDA C with NVRTC for this device. Name is a kernel's, or an
// expression that names one, such as add<float>.
func (d *Device) Compile(source, name string, options []string) (backend.Function, error) {
	if strings.ContainsRune(source+name+strings.Join(options, ""), 0) {
		return nil, &backend.CompileError{Name: name, Log: "the source, the name or an option contains a zero byte"}
	}
	if err := openNVRTC(d.name); err != nil {
		return nil, err
	}
	image, lowered, err := compile(source, name, append(d.target(options), options...))
	if err != nil {
		return nil, err
	}
	f := &function{device: d}
	err = d.do("loading the kernel "+name, func() (err error) {
		if f.module, err = cu.LoadData(image); err != nil {
			return err
		}
		fn, err := f.module.Function(lowered)
		if err != nil {
			_ = f.module.Unload()
		}
		f.function = handle(fn)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// target is the option for the device's code, unless the user gives one. A
// compiler that is older than the device makes PTX, which the driver compiles.
func (d *Device) target(options []string) []string {
	for _, o := range options {
		if strings.HasPrefix(o, "--gpu-architecture") || strings.HasPrefix(o, "-arch") {
			return nil
		}
	}
	want, kind := d.capability[0]*10+d.capability[1], "sm"
	if newest := int(C.er_nvrtc_newest()); newest > 0 && newest < want {
		want, kind = newest, "compute"
	}
	return []string{fmt.Sprintf("--gpu-architecture=%s_%d", kind, want)}
}

// compile gives the code and the kernel's name in it.
func compile(source, name string, options []string) (image, lowered string, err error) {
	cSource, cName, cFile := C.CString(source), C.CString(name), C.CString("kernel.cu")
	defer C.free(unsafe.Pointer(cSource))
	defer C.free(unsafe.Pointer(cName))
	defer C.free(unsafe.Pointer(cFile))
	cOptions := make([]*C.char, len(options)+1)
	for i, o := range options {
		cOptions[i] = C.CString(o)
		defer C.free(unsafe.Pointer(cOptions[i]))
	}
	var cImage, cLowered, cLog *C.char
	var size C.size_t
	r := C.er_nvrtc_compile(cSource, cFile, cName, &cOptions[0], C.int(len(options)), &cImage, &size, &cLowered, &cLog)
	defer C.free(unsafe.Pointer(cImage))
	defer C.free(unsafe.Pointer(cLowered))
	defer C.free(unsafe.Pointer(cLog))
	log := ""
	if cLog != nil {
		log = strings.TrimSpace(C.GoString(cLog))
	}
	if r != 0 || cImage == nil || cLowered == nil {
		if log == "" {
			log = C.GoString(C.er_nvrtc_text(r))
		}
		return "", "", &backend.CompileError{Name: name, Log: log}
	}
	return C.GoStringN(cImage, C.int(size)), C.GoString(cLowered), nil
}

// function is a kernel of the user's.
type function struct {
	device   *Device
	module   cu.Module
	function uintptr
	mu       sync.RWMutex
	closed   bool
}

func (f *function) Launch(s backend.Stream, grid, block [3]int, shared int, args []unsafe.Pointer) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return errClosed
	}
	var geometry [7]C.uint
	for i := range 3 {
		geometry[i], geometry[3+i] = C.uint(grid[i]), C.uint(block[i])
	}
	geometry[6] = C.uint(shared)
	var pin runtime.Pinner
	defer pin.Unpin()
	for _, a := range args {
		pin.Pin(a)
	}
	d := f.device
	return d.use(s, func(on cu.Stream) error {
		code := C.er_launch(C.uintptr_t(handle(d.context)), C.uintptr_t(f.function), &geometry[0], C.uintptr_t(handle(on)), unsafe.SliceData(args))
		return failure(d.name, "launching a kernel", check(code))
	})
}

// Close unloads the kernel; the driver waits for launches that are queued.
func (f *function) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	return f.device.do("cuModuleUnload", f.module.Unload)
}
