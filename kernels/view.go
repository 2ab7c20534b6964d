package kernels

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/kernels/backend"
)

// share makes another array on a's memory.
func (a *Array) share(op string, v backend.View) (*Array, error) {
	if err := a.hold(op); err != nil { // the new array takes the reference over
		return nil, err
	}
	return newArray(a.dev, a.h.block, v, a.readOnly, a.stream), nil
}

// Share is a further array with the same elements, to be freed on its own.
func (a *Array) Share() (*Array, error) { return a.share("share", a.view) }

// AsReadOnly is a view that operations refuse to write to.
func (a *Array) AsReadOnly() (*Array, error) {
	b, err := a.share("read-only view", a.view)
	if err == nil {
		b.readOnly = true
	}
	return b, err
}

// Slice is the view of the indices start, start+step, … before stop on an
// axis. As in Python, negative indices count from the end and indices beyond
// the ends stop there; with a negative step, End and Begin give the ends that
// Python leaves out.
func (a *Array) Slice(axis, start, stop, step int) (*Array, error) {
	axis, err := a.axis("slice", axis)
	if err != nil {
		return nil, err
	}
	if step == 0 {
		return nil, shapeErr("slice", "the step is 0")
	}
	n := a.view.Shape[axis]
	lo, hi := 0, n
	if step < 0 {
		lo, hi = -1, n-1
	}
	clamp := func(i int) int {
		if i < 0 && i != Begin {
			i += n
		}
		return min(max(i, lo), hi)
	}
	start, stop = clamp(start), clamp(stop)
	length := 0
	if step > 0 && stop > start {
		length = (stop-start-1)/step + 1
	} else if step < 0 && stop < start {
		length = (start-stop-1)/-step + 1
	}
	v := a.view
	v.Shape, v.Strides = clone(a.view.Shape, a.view.Strides)
	if length > 0 {
		v.Ptr = at(v.Ptr, start*v.Strides[axis])
		v.Strides[axis] *= step
	}
	v.Shape[axis] = length
	return a.share("slice", v)
}

// The ends of an axis, for Slice: Begin is before the first index.
const (
	Begin = -1 << 62
	End   = 1 << 62
)

// axis resolves a negative axis.
func (a *Array) axis(op string, axis int) (int, error) {
	n := len(a.view.Shape)
	if axis < -n || axis >= n {
		return 0, shapeErr(op, "axis %d of an array with %d dimensions", axis, n)
	}
	if axis < 0 {
		axis += n
	}
	return axis, nil
}

// Reshape is a view with another shape; one length may be -1. An array whose
// elements cannot be seen so without a copy is a *ShapeError: Copy it first.
func (a *Array) Reshape(shape ...int) (*Array, error) {
	shape = slices.Clone(shape)
	known, open := 1, -1
	for i, n := range shape {
		switch {
		case n == -1 && open < 0:
			open = i
		case n < 0:
			return nil, shapeErr("reshape", "shape %v has a negative length", shape)
		default:
			known *= n
		}
	}
	if open >= 0 {
		if known == 0 || a.n%known != 0 {
			return nil, shapeErr("reshape", "%d elements do not fill shape %v", a.n, shape)
		}
		shape[open] = a.n / known
	}
	if _, err := checkShape("reshape", a.view.DType, shape); err != nil {
		return nil, err
	}
	if count(shape) != a.n {
		return nil, shapeErr("reshape", "%d elements do not fill shape %v", a.n, shape)
	}
	v := a.view
	if a.n == 0 || contiguous(a.view) {
		v.Shape, v.Strides = packed(a.view.DType, shape)
		return a.share("reshape", v)
	}
	strides, ok := refold(a.view, shape)
	if !ok {
		return nil, shapeErr("reshape", "the elements of shape %v with strides %v cannot be seen as %v; copy the array first",
			a.view.Shape, a.view.Strides, shape)
	}
	v.Shape, v.Strides = shape, strides
	return a.share("reshape", v)
}

// refold finds strides that show v's elements, of which there are some, in
// another shape: groups of old and new dimensions with equal counts, where the
// old ones of a group are evenly spaced.
func refold(v backend.View, shape []int) ([]int, bool) {
	var oldShape, oldStrides []int
	for i, n := range v.Shape {
		if n != 1 {
			oldShape, oldStrides = append(oldShape, n), append(oldStrides, v.Strides[i])
		}
	}
	strides := make([]int, len(shape))
	i, j := 0, 0
	for i < len(oldShape) {
		firstOld, firstNew := i, j
		before, after := oldShape[i], shape[j]
		i, j = i+1, j+1
		for before != after {
			if before < after {
				before *= oldShape[i]
				i++
			} else {
				after *= shape[j]
				j++
			}
		}
		for k := firstOld; k+1 < i; k++ {
			if oldStrides[k] != oldShape[k+1]*oldStrides[k+1] {
				return nil, false
			}
		}
		step := oldStrides[i-1]
		for k := j - 1; k >= firstNew; k-- {
			strides[k] = step
			step *= shape[k]
		}
	}
	for ; j < len(shape); j++ {
		strides[j] = v.DType.Size() // lengths of 1
	}
	return strides, true
}

// Transpose is a view with the axes in another order; without axes, reversed.
func (a *Array) Transpose(axes ...int) (*Array, error) {
	n := len(a.view.Shape)
	if len(axes) == 0 {
		for i := n - 1; i >= 0; i-- {
			axes = append(axes, i)
		}
	}
	if len(axes) != n {
		return nil, shapeErr("transpose", "axes %v of an array with %d dimensions", axes, n)
	}
	v := a.view
	v.Shape, v.Strides = clone(a.view.Shape, a.view.Strides)
	seen := make([]bool, n)
	for i, axis := range axes {
		axis, err := a.axis("transpose", axis)
		if err != nil {
			return nil, err
		}
		if seen[axis] {
			return nil, shapeErr("transpose", "axes %v name %d twice", axes, axis)
		}
		seen[axis] = true
		v.Shape[i], v.Strides[i] = a.view.Shape[axis], a.view.Strides[axis]
	}
	return a.share("transpose", v)
}

// Broadcast is a read-only view with a shape that the array's broadcasts to.
func (a *Array) Broadcast(shape ...int) (*Array, error) {
	if _, err := checkShape("broadcast", a.view.DType, shape); err != nil {
		return nil, err
	}
	got, err := broadcast("broadcast", a.view.Shape, shape)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(got, shape) {
		return nil, shapeErr("broadcast", "shape %v does not broadcast to %v", a.view.Shape, shape)
	}
	b, err := a.share("broadcast", stretch(a.view, slices.Clone(shape)))
	if err == nil {
		b.readOnly = true
	}
	return b, err
}

// On is a view whose operations are queued on a stream. The results inherit
// it. Where the arrays of an operation have different streams, it runs on that
// of the result, or else of the first array that has one, and waits for the
// work that the others have now.
func (a *Array) On(s *Stream) (*Array, error) {
	if s != nil {
		if s.dev != a.dev {
			return nil, &DeviceError{"on", fmt.Sprintf("a stream of %s for an array on %s", s.dev.name, a.dev.name)}
		}
		if s.closed.Load() {
			return nil, fmt.Errorf("on: stream: %w", ErrClosed)
		}
	}
	b, err := a.share("on", a.view)
	if err == nil {
		b.stream = s
	}
	return b, err
}
