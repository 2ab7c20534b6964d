package kernels

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/kernels/backend"
)

// allAxes reduces every axis.
const allAxes = 1 << 30

// Sum adds all elements up. The sum of integers is I64 and wraps around.
func Sum(a *Array) (*Array, error) { return reduce("sum", backend.Sum, a, allAxes) }

// SumAxis adds up along an axis, which the result lacks. In all reductions, a
// negative axis counts from the last.
func SumAxis(a *Array, axis int) (*Array, error) { return reduce("sum", backend.Sum, a, axis) }

// Min is the least element; NaN wins. Of no elements it is a *ShapeError.
func Min(a *Array) (*Array, error) { return reduce("min", backend.Min, a, allAxes) }

// MinAxis is the least element along an axis.
func MinAxis(a *Array, axis int) (*Array, error) { return reduce("min", backend.Min, a, axis) }

// Max is the greatest element; NaN wins. Of no elements it is a *ShapeError.
func Max(a *Array) (*Array, error) { return reduce("max", backend.Max, a, allAxes) }

// MaxAxis is the greatest element along an axis.
func MaxAxis(a *Array, axis int) (*Array, error) { return reduce("max", backend.Max, a, axis) }

// Mean is the arithmetic mean: F64 of integers, NaN of no elements.
func Mean(a *Array) (*Array, error) { return reduce("mean", backend.Mean, a, allAxes) }

// MeanAxis is the mean along an axis.
func MeanAxis(a *Array, axis int) (*Array, error) { return reduce("mean", backend.Mean, a, axis) }

func reduce(op string, kind backend.ReduceOp, a *Array, axis int) (*Array, error) {
	s, err := begin(op, nil, a)
	if err != nil {
		return nil, err
	}
	defer end(nil, a)
	var shape []int
	length := a.n
	if axis == allAxes {
		axis = -1
	} else {
		if axis, err = a.axis(op, axis); err != nil {
			return nil, err
		}
		length = a.view.Shape[axis]
		shape = slices.Delete(slices.Clone(a.view.Shape), axis, axis+1)
	}
	if length == 0 && count(shape) > 0 && (kind == backend.Min || kind == backend.Max) {
		return nil, shapeErr(op, "shape %v has no elements to take the %s of", a.view.Shape, op)
	}
	t := a.view.DType
	if !t.Float() && kind == backend.Sum {
		t = I64
	} else if !t.Float() && kind == backend.Mean {
		t = F64
	}
	out, err := empty(op, a.dev, t, shape, a.queue())
	if err != nil || out.n == 0 {
		return out, err
	}
	if err := a.dev.back.Reduce(s, kind, out.view, a.view, axis); err != nil {
		_ = out.Free()
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return out, nil
}
