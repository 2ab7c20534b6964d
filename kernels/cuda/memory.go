//go:build cuda && cgo

package cuda

// #include "shim.h"
import "C"

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
)

// memory is an allocation, an imported one, or one of somebody else.
type memory struct {
	device *Device
	ptr    cu.DevicePtr
	size   int
	free   func(cu.DevicePtr) error // nil: not ours to free
	once   sync.Once

	counted int64 // of allocated
}

// allocated is what this process holds of all devices by Alloc.
var allocated atomic.Int64

// DeviceBytes is how many bytes of devices this process has allocated here and
// not freed. Contexts, and memory of others, are not counted.
func DeviceBytes() int64 { return allocated.Load() }

func (m *memory) Ptr() unsafe.Pointer { return pointer(m.ptr) }
func (m *memory) Size() int           { return m.size }

// pointer makes a device address what views hold. It is no address of Go's.
func pointer(p cu.DevicePtr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// Free waits for work that was queued before, as the driver does.
func (m *memory) Free() (err error) {
	m.once.Do(func() {
		if m.free != nil && m.ptr != 0 {
			err = m.device.do("cuMemFree", func() error { return m.free(m.ptr) })
			allocated.Add(-m.counted)
		}
	})
	return err
}

// Alloc gives memory with undefined contents. No bytes need no memory.
func (d *Device) Alloc(bytes int) (backend.Memory, error) { return d.alloc(bytes) }

func (d *Device) alloc(bytes int) (*memory, error) {
	m := &memory{device: d, size: bytes, free: cu.MemFree}
	if bytes <= 0 {
		return m, nil
	}
	var free, total int64
	err := d.do("cuMemAlloc", func() (err error) {
		m.ptr, err = cu.MemAlloc(int64(bytes))
		if r, _ := asResult(err); r == resultOutOfMemory {
			free, total, _ = cu.MemInfo() // only for the message
		}
		return err
	})
	var full *backend.OutOfMemoryError
	if errors.As(err, &full) {
		full.Asked, full.Free, full.Total = int64(bytes), free, total
	}
	if err != nil {
		return nil, err
	}
	m.counted = int64(bytes)
	allocated.Add(m.counted)
	return m, nil
}

// Adopt wraps memory that somebody else keeps alive.
func (d *Device) Adopt(ptr unsafe.Pointer, size int) backend.Memory {
	return &memory{device: d, ptr: cu.DevicePtr(uintptr(ptr)), size: size}
}
