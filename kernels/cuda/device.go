//go:build cuda && cgo

package cuda

// #include "shim.h"
import "C"

import (
	"encoding/hex"
	"runtime"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Device is one CUDA device with its primary context. The context stays
// retained until the process ends: memory of it may be in use anywhere.
type Device struct {
	name       string
	device     cu.Device
	context    cu.CUContext
	capability [2]int
	processors int

	mu      sync.Mutex
	modules map[string]cu.Module
	kernels map[[2]string]uintptr
	blas    blas
	staging staging
}

func open(index int) (*Device, error) {
	name := deviceName(index)
	device, err := cu.GetDevice(index)
	if err != nil {
		return nil, failure(name, "cuDeviceGet", err)
	}
	d := &Device{name: name, device: device, modules: map[string]cu.Module{}, kernels: map[[2]string]uintptr{}}
	for _, a := range []struct {
		attribute cu.DeviceAttribute
		to        *int
	}{
		{cu.ComputeCapabilityMajor, &d.capability[0]},
		{cu.ComputeCapabilityMinor, &d.capability[1]},
		{cu.MultiprocessorCount, &d.processors},
	} {
		if *a.to, err = device.Attribute(a.attribute); err != nil {
			return nil, failure(name, "cuDeviceGetAttribute", err)
		}
	}
	if d.context, err = device.RetainPrimaryCtx(); err != nil {
		return nil, failure(name, "cuDevicePrimaryCtxRetain", err)
	}
	return d, nil
}

// handle is the driver's pointer in one of cu's types, all of which are structs
// of that pointer alone.
func handle[T cu.CUContext | cu.Function | cu.Stream](v T) uintptr {
	return *(*uintptr)(unsafe.Pointer(&v))
}

// Compiles only as long as the types are no larger than a pointer.
var _ = [1]struct{}{}[unsafe.Sizeof(cu.CUContext{})+unsafe.Sizeof(cu.Function{})+unsafe.Sizeof(cu.Stream{})-3*unsafe.Sizeof(uintptr(0))]

// do runs f with the device's context current on this thread and then restores
// the one that was. Call names what f does, for its error.
func (d *Device) do(call string, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.PushCurrentCtx(d.context); err != nil {
		return failure(d.name, "cuCtxPushCurrent", err)
	}
	defer cu.PopCurrentCtx()
	return failure(d.name, call, f())
}

// Info describes the device.
func (d *Device) Info() (backend.Info, error) {
	i := backend.Info{Capability: d.capability}
	err := d.do("cuMemGetInfo", func() (err error) {
		if i.Name, err = d.device.Name(); err != nil {
			return err
		}
		var uuid [16]C.uchar
		var mig C.int
		if err := check(C.er_device_uuid(C.int(d.device), &uuid[0], &mig)); err != nil {
			return err
		}
		i.UUID = formatUUID(*(*[16]byte)(unsafe.Pointer(&uuid)), mig != 0)
		i.FreeMemory, i.TotalMemory, err = cu.MemInfo()
		return err
	})
	return i, err
}

func formatUUID(b [16]byte, mig bool) string {
	s := hex.EncodeToString(b[:])
	prefix := "GPU-"
	if mig {
		prefix = "MIG-"
	}
	return prefix + s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// Synchronize waits for all work of the device.
func (d *Device) Synchronize() error { return d.do("cuCtxSynchronize", cu.Synchronize) }
