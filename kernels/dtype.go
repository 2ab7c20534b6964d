package kernels

import "github.com/eagleray/eagleray/kernels/backend"

// DType is the type of an array's elements.
type DType = backend.DType

// The data types.
const (
	F16  = backend.F16
	BF16 = backend.BF16
	F32  = backend.F32
	F64  = backend.F64
	I32  = backend.I32
	I64  = backend.I64
	U8   = backend.U8
)

// Element is a Go type that arrays hold directly. Go has no 16-bit floating
// point: cast F16 and BF16 to F32.
type Element interface {
	float32 | float64 | int32 | int64 | uint8
}

// DTypeOf is the data type of a Go type.
func DTypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case int32:
		return I32
	case int64:
		return I64
	}
	return U8
}

// limits are the least and greatest value of an integer type, as float64.
func limits(t DType) (lo, hi float64) {
	switch t {
	case I32:
		return -1 << 31, 1<<31 - 1
	case I64: // where every integer has a float64 of its own
		return -1 << 53, 1 << 53
	}
	return 0, 255
}
