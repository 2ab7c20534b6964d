package kernels

import (
	"slices"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

func count(shape []int) int {
	n := 1
	for _, l := range shape {
		n *= l
	}
	return n
}

// clone copies shape and strides into one allocation.
func clone(shape, strides []int) (sh, st []int) {
	both := make([]int, 2*len(shape))
	sh, st = both[:len(shape):len(shape)], both[len(shape):]
	copy(sh, shape)
	copy(st, strides)
	return sh, st
}

// packed returns a copy of shape and its strides in C order.
func packed(t DType, shape []int) (sh, st []int) {
	sh, st = clone(shape, nil)
	step := t.Size()
	for i := len(sh) - 1; i >= 0; i-- {
		st[i] = step
		step *= max(sh[i], 1)
	}
	return sh, st
}

// contiguous is for views with elements.
func contiguous(v backend.View) bool {
	step := v.DType.Size()
	for i := len(v.Shape) - 1; i >= 0; i-- {
		if v.Shape[i] == 1 {
			continue
		}
		if v.Strides[i] != step {
			return false
		}
		step *= v.Shape[i]
	}
	return true
}

// span is the addresses from the first byte of v to after its last.
func span(v backend.View) (lo, hi uintptr) {
	lo = uintptr(v.Ptr)
	hi = lo + uintptr(v.DType.Size())
	for i, n := range v.Shape {
		if n == 0 {
			return lo, lo
		}
		if far := (n - 1) * v.Strides[i]; far < 0 {
			lo -= uintptr(-far)
		} else {
			hi += uintptr(far)
		}
	}
	return lo, hi
}

// clash reports whether writing to out could change elements of in that were
// not read yet: they share bytes, and not element by element.
func clash(out, in backend.View) bool {
	if out.Ptr == in.Ptr && out.DType == in.DType && slices.Equal(out.Strides, in.Strides) {
		return false
	}
	outLo, outHi := span(out)
	inLo, inHi := span(in)
	return outLo < inHi && inLo < outHi
}

// repeats reports whether two indices of v may be the same element, so that
// writing to it has no defined result: a stride of zero.
func repeats(v backend.View) bool {
	if count(v.Shape) == 0 {
		return false
	}
	for i, n := range v.Shape {
		if n > 1 && v.Strides[i] == 0 {
			return true
		}
	}
	return false
}

func broadcast(op string, a, b []int) ([]int, error) {
	if slices.Equal(a, b) {
		return a, nil
	}
	long, short := a, b
	if len(long) < len(short) {
		long, short = b, a
	}
	shape := slices.Clone(long)
	for i, n := range short {
		at := len(long) - len(short) + i
		switch {
		case shape[at] == n || n == 1:
		case shape[at] == 1:
			shape[at] = n
		default:
			return nil, shapeErr(op, "shapes %v and %v do not broadcast", a, b)
		}
	}
	return shape, nil
}

// stretch is v with a shape that its own broadcasts to.
func stretch(v backend.View, shape []int) backend.View {
	if slices.Equal(v.Shape, shape) {
		return v
	}
	strides := make([]int, len(shape))
	for i, n := range v.Shape {
		if n != 1 {
			strides[len(shape)-len(v.Shape)+i] = v.Strides[i]
		}
	}
	v.Shape, v.Strides = shape, strides
	return v
}

func at(p unsafe.Pointer, bytes int) unsafe.Pointer { return unsafe.Add(p, bytes) }
