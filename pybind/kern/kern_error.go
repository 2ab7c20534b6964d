//go:build eagleray_hot

package main

// #include <stdlib.h>
// #include "kern.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/eagleray/eagleray/kernels"
)

// giveKern hands an error to the C side; the codes are the keys of
// eagleray/kernels/errors.py.
func giveKern(err error, out *C.kern_err) C.int {
	*out = C.kern_err{}
	code, detail := "internal", ""
	var (
		shape    *kernels.ShapeError
		dtype    *kernels.DTypeError
		device   *kernels.DeviceError
		scalar   *kernels.ScalarError
		program  *kernels.ProgramError
		argument *kernels.ArgumentError
		memory   *kernels.OutOfMemoryError
		missing  *kernels.UnsupportedError
		compile  *kernels.CompileError
		driver   *kernels.DriverError
		number   *numberError
	)
	switch {
	case errors.As(err, &number):
		code = number.code
	case errors.As(err, &shape):
		code = "shape"
	case errors.As(err, &dtype):
		code = "dtype"
	case errors.As(err, &scalar):
		code = "value"
	case errors.As(err, &program):
		code = "shape"
	case errors.As(err, &argument):
		code = "argument"
	case errors.Is(err, kernels.ErrClosed):
		code = "closed"
	case errors.Is(err, kernels.ErrReadOnly):
		code = "readonly"
	case errors.As(err, &memory):
		code = "memory"
		out.asked, out.free, out.total = C.int64_t(memory.Asked), C.int64_t(memory.Free), C.int64_t(memory.Total)
	case errors.As(err, &compile):
		code, detail = "compile", compile.Log
	case errors.As(err, &missing):
		code = "unsupported"
	case errors.As(err, &device):
		code = "device"
	case errors.As(err, &driver):
		code = "driver"
	}
	out.code = C.CString(code)
	out.message = C.CString(err.Error())
	if detail != "" {
		out.detail = C.CString(detail)
	}
	return failed
}

// guardKern turns a panic into an error: the process belongs to the user.
func guardKern(out *C.kern_err, r *C.int) {
	if p := recover(); p != nil {
		buf := make([]byte, 4096)
		buf = buf[:runtime.Stack(buf, false)]
		*r = giveKern(fmt.Errorf("panic in kernels: %v\n%s", p, buf), out)
	}
}

// numberError says what is wrong with a number of Python's.
type numberError struct{ code, text string }

func (e *numberError) Error() string { return e.text }
