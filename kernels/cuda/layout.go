//go:build cuda && cgo

package cuda

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// maxRank is the rank that kernels take. Views of a higher rank, after
// dimensions have been joined, are taken apart; see eachSlice.
const maxRank = 8

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// simplify gives an equivalent iteration over the same elements with as few
// dimensions as possible, fastest last as the first operand has it. Operands
// are given by their strides, which all belong to shape.
func simplify(shape []int, strides ...[]int) ([]int, [][]int) {
	order := make([]int, 0, len(shape))
	for d, n := range shape {
		if n != 1 {
			order = append(order, d)
		}
	}
	if len(strides) > 0 {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(abs(strides[0][b]), abs(strides[0][a])) })
	}
	dims := make([]int, 0, len(order))
	to := make([][]int, len(strides))
	for _, d := range order {
		last := len(dims) - 1
		joins := last >= 0
		for i, s := range strides {
			joins = joins && to[i][last] == s[d]*shape[d]
		}
		if joins {
			dims[last] *= shape[d]
		} else {
			dims = append(dims, shape[d])
			last++
		}
		for i, s := range strides {
			if joins {
				to[i][last] = s[d]
			} else {
				to[i] = append(to[i], s[d])
			}
		}
	}
	return dims, to
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// contiguous gives the strides of a C-contiguous array.
func contiguous(shape []int, size int) []int {
	strides := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		strides[d] = size
		size *= shape[d]
	}
	return strides
}

func isContiguous(v backend.View) bool {
	size := v.DType.Size()
	for d := len(v.Shape) - 1; d >= 0; d-- {
		if v.Shape[d] != 1 && v.Strides[d] != size {
			return false
		}
		size *= v.Shape[d]
	}
	return true
}

// extent is the range of bytes that a view that has elements covers.
func extent(v backend.View) (low, high uintptr) {
	low, high = uintptr(v.Ptr), uintptr(v.Ptr)+uintptr(v.DType.Size())
	for d, n := range v.Shape {
		if span := (n - 1) * v.Strides[d]; span < 0 {
			low -= uintptr(-span)
		} else {
			high += uintptr(span)
		}
	}
	return low, high
}

func overlap(a, b backend.View) bool {
	aLow, aHigh := extent(a)
	bLow, bHigh := extent(b)
	return aLow < bHigh && bLow < aHigh
}

// same says whether two views are the same elements in the same order.
func same(a, b backend.View) bool {
	if a.Ptr != b.Ptr || a.DType != b.DType {
		return false
	}
	for d, n := range a.Shape {
		if n != 1 && a.Strides[d] != b.Strides[d] {
			return false
		}
	}
	return true
}

// at is the view of what lies behind index i of dimension 0.
func at(v backend.View, i int) backend.View {
	return backend.View{Ptr: unsafe.Add(v.Ptr, i*v.Strides[0]), DType: v.DType, Shape: v.Shape[1:], Strides: v.Strides[1:]}
}
