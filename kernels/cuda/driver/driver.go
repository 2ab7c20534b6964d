//go:build cuda && cgo

package driver

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "stub.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// ErrNoLibrary says that this machine has no driver library.
var ErrNoLibrary = errors.New("no NVIDIA driver")

// InitError is the driver's answer to cuInit.
type InitError struct {
	Code int
	Text string
}

func (e *InitError) Error() string { return "the NVIDIA driver does not start: " + e.Text }

// Load opens the driver library and initialises it. Only the first call does
// so; the others give its outcome.
func Load() error {
	switch code := int(C.er_driver_load()); code {
	case 0:
		return nil
	case -1:
		return fmt.Errorf("%w: %s", ErrNoLibrary, C.GoString(C.er_driver_error()))
	default:
		return &InitError{Code: code, Text: C.GoString(C.er_driver_error())}
	}
}

// Missing is the driver function that this thread called last and that the
// driver does not have, "" if there was none. It is forgotten by asking.
func Missing() string {
	name := C.er_driver_missing()
	if name == nil {
		return ""
	}
	return C.GoString(name)
}

// Find is the address of a driver function, nil where there is none.
func Find(name string) unsafe.Pointer {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return C.er_driver_find(c)
}
