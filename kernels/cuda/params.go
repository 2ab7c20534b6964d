//go:build cuda && cgo

package cuda

import "unsafe"

// What kernels take, as kernels/src has it.

type operand struct {
	ptr    uintptr
	stride [maxRank]int64
}

type shape struct {
	rank int64
	dim  [maxRank]int64
}

const (
	operandWords = 9
	stepWords    = 3
	tableWords   = 9*operandWords + 24*stepWords
)

type mapParams struct {
	n, operands, steps, vector int64
	shape                      shape
	more                       uintptr
	table                      [tableWords]uint64
}

type copyParams struct {
	n     int64
	to    int64 // data type
	shape shape
	dst   operand
	src   operand
}

type reduceParams struct {
	outputs, count int64
	parts          int64 // how many blocks share an output; each writes to partial
	op, to         int64
	divisor        float64 // 0: none
	outer, inner   shape
	out, in        operand // over outer
	step           operand // in's strides over inner
	partial        uintptr
}

type dotParams struct {
	n       int64
	a, b    operand // one stride
	partial uintptr
}

type matmulParams struct {
	m, n, k    int64
	out, a, b  uintptr
	outRow     int64
	outCol     int64
	aRow, aCol int64
	bRow, bCol int64
}

type softmaxParams struct {
	rows, cols      int64
	outer           shape
	out, in         operand
	outStep, inStep int64
}

// Compiles only as long as both sides have the same sizes.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(mapParams{})-1336]
	_ = [1]struct{}{}[unsafe.Sizeof(copyParams{})-232]
	_ = [1]struct{}{}[unsafe.Sizeof(reduceParams{})-416]
	_ = [1]struct{}{}[unsafe.Sizeof(dotParams{})-160]
	_ = [1]struct{}{}[unsafe.Sizeof(matmulParams{})-96]
	_ = [1]struct{}{}[unsafe.Sizeof(softmaxParams{})-248]
)

func shapeOf(dims []int) (s shape) {
	s.rank = int64(len(dims))
	for i, d := range dims {
		s.dim[i] = int64(d)
	}
	return s
}

func operandOf(ptr unsafe.Pointer, strides []int) (o operand) {
	o.ptr = uintptr(ptr)
	for i, s := range strides {
		o.stride[i] = int64(s)
	}
	return o
}
