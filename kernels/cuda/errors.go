//go:build cuda && cgo

package cuda

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/eagleray/eagleray/kernels/backend"
	"github.com/eagleray/eagleray/kernels/cuda/driver"
)

// Results of the driver that have a meaning here.
const (
	resultOutOfMemory = 2
	resultNotFound    = 500
	resultNotReady    = 600
)

// result is a CUresult that is not success.
type result int

func (r result) Error() string {
	return fmt.Sprintf("%s: %s", C.GoString(C.er_result_name(C.int(r))), C.GoString(C.er_result_text(C.int(r))))
}

// asResult gives the CUresult of an error, of ours or of cu's unexported type.
func asResult(err error) (result, bool) {
	var r result
	if errors.As(err, &r) {
		return r, true
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return result(v.Int()), true
	}
	return 0, false
}

func check(code C.int) error {
	if code == 0 {
		return nil
	}
	return result(code)
}

// contextLost says that after this result every further call fails, until the
// process has been started anew.
func contextLost(r result) bool {
	return r == 214 || r == 220 || r == 226 || r >= 700 && r < 720 && r != 704 && r != 705 && r != 708 && r != 711 && r != 712 && r != 713
}

// failure makes an error of kernels out of one of the driver. It is called on
// the thread that made the call.
func failure(device, call string, err error) error {
	r, ok := asResult(err)
	if err == nil || !ok {
		return err
	}
	switch {
	case r == resultOutOfMemory:
		return &backend.OutOfMemoryError{Device: device}
	case r == resultNotFound:
		if name := driver.Missing(); name != "" {
			return &backend.UnsupportedError{Device: device, What: call, Why: "this NVIDIA driver has no " + name + "; a newer one has"}
		}
	}
	text := r.Error()
	if contextLost(r) {
		text += "; the device's context is lost, and this process must be restarted to use the device again"
	}
	return &backend.DriverError{Device: device, Call: call, Code: int(r), Text: text}
}
