package kernels

import (
	"errors"
	"fmt"

	"github.com/eagleray/eagleray/kernels/backend"
)

// What an operation on an array of the right kind can still meet. Errors name
// the operation and wrap these.
var (
	// ErrClosed: the array, stream, event or kernel was freed or closed before.
	ErrClosed = errors.New("used after it was freed")
	// ErrReadOnly: the operation would write into memory that only may be read.
	ErrReadOnly = errors.New("the array is read-only; use the form that makes a new array, or a copy")
)

// Errors of the devices.
type (
	OutOfMemoryError = backend.OutOfMemoryError
	UnsupportedError = backend.UnsupportedError
	CompileError     = backend.CompileError
	DriverError      = backend.DriverError
)

// ShapeError says which shapes, axes or strides an operation cannot take.
type ShapeError struct{ Op, Text string }

func (e *ShapeError) Error() string { return e.Op + ": " + e.Text }

// DTypeError says which data types an operation cannot take.
type DTypeError struct{ Op, Text string }

func (e *DTypeError) Error() string { return e.Op + ": " + e.Text }

// DeviceError says that a device is unknown, or that arrays are on different ones.
type DeviceError struct{ Op, Text string }

func (e *DeviceError) Error() string { return e.Op + ": " + e.Text }

// ScalarError says that a number does not fit the arrays' data type.
type ScalarError struct {
	Op    string
	Value float64
	DType DType
	Text  string
}

func (e *ScalarError) Error() string {
	return fmt.Sprintf("%s: the scalar %v does not fit %s: %s", e.Op, e.Value, e.DType, e.Text)
}

// ProgramError says what is wrong with a chain of steps.
type ProgramError struct{ Op, Text string }

func (e *ProgramError) Error() string { return e.Op + ": " + e.Text }

// ArgumentError says what is wrong with a launch of a compiled kernel.
// Index is the argument's place, from 0, or -1 for the launch itself.
type ArgumentError struct {
	Kernel string
	Index  int
	Text   string
}

func (e *ArgumentError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("kernel %s: %s", e.Kernel, e.Text)
	}
	return fmt.Sprintf("kernel %s: argument %d: %s", e.Kernel, e.Index, e.Text)
}

func shapeErr(op, format string, args ...any) error {
	return &ShapeError{op, fmt.Sprintf(format, args...)}
}

func dtypeErr(op, format string, args ...any) error {
	return &DTypeError{op, fmt.Sprintf(format, args...)}
}
