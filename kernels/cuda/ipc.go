//go:build cuda && cgo

package cuda

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
)

// A handle is: the driver's handle of the whole allocation, where in it the
// memory begins and how long it is, the exporting process, the device's UUID.
const (
	driverHandle = 64
	fixedHandle  = driverHandle + 3*8
)

func (d *Device) uuid() (string, error) {
	info, err := d.Info()
	return info.UUID, err
}

// Export makes a handle that another process on this node and device can
// import while the memory lives.
func (d *Device) Export(m backend.Memory) ([]byte, error) {
	mine, ok := m.(*memory)
	if !ok || mine.device != d || mine.ptr == 0 {
		return nil, &backend.UnsupportedError{Device: d.name, What: "exporting the memory", Why: "it is not this device's, or is empty"}
	}
	uuid, err := d.uuid()
	if err != nil {
		return nil, err
	}
	handle := make([]byte, fixedHandle, fixedHandle+len(uuid))
	err = d.do("cuIpcGetMemHandle", func() error {
		_, base, err := mine.ptr.AddressRange()
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(handle[driverHandle:], uint64(mine.ptr-base))
		return check(C.er_ipc_get((*C.uchar)(&handle[0]), C.uintptr_t(base)))
	})
	if err != nil {
		return nil, d.unshared("exporting the memory", err)
	}
	binary.LittleEndian.PutUint64(handle[driverHandle+8:], uint64(mine.size))
	binary.LittleEndian.PutUint64(handle[driverHandle+16:], uint64(os.Getpid()))
	return append(handle, uuid...), nil
}

// Import maps memory that another process exported. Free unmaps it.
func (d *Device) Import(handle []byte, size int) (backend.Memory, error) {
	cannot := func(why string) error {
		return &backend.UnsupportedError{Device: d.name, What: "importing memory", Why: why}
	}
	if len(handle) <= fixedHandle {
		return nil, cannot("the handle is no handle of CUDA memory")
	}
	uuid, err := d.uuid()
	if err != nil {
		return nil, err
	}
	if string(handle[fixedHandle:]) != uuid {
		return nil, cannot(fmt.Sprintf("it is on the device %q, and this is %s", handle[fixedHandle:], uuid))
	}
	offset := binary.LittleEndian.Uint64(handle[driverHandle:])
	if has := binary.LittleEndian.Uint64(handle[driverHandle+8:]); size < 0 || uint64(size) > has {
		return nil, cannot(fmt.Sprintf("%d bytes are asked for, and it has %d", size, has))
	}
	if binary.LittleEndian.Uint64(handle[driverHandle+16:]) == uint64(os.Getpid()) {
		return nil, cannot("this process exported it")
	}
	var base C.uintptr_t
	err = d.do("cuIpcOpenMemHandle", func() error { return check(C.er_ipc_open(&base, (*C.uchar)(&handle[0]))) })
	if err != nil {
		return nil, d.unshared("importing memory", err)
	}
	return &memory{device: d, ptr: cu.DevicePtr(uint64(base) + offset), size: size, free: func(cu.DevicePtr) error {
		return check(C.er_ipc_close(base))
	}}, nil
}

// unshared makes an UnsupportedError of a failure that the driver gives where
// there is no CUDA IPC, or where the exporting process is gone.
func (d *Device) unshared(what string, err error) error {
	var e *backend.DriverError
	if errors.As(err, &e) && !contextLost(result(e.Code)) {
		return &backend.UnsupportedError{Device: d.name, What: what, Why: "CUDA IPC does not work here: " + e.Text}
	}
	return err
}
