//go:build eagleray_hot

package main

// #include "kern.h"
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/eagleray/eagleray/kernels"
	"github.com/eagleray/eagleray/kernels/backend"
)

// operands are the arrays of one call: those behind handles, and passing ones
// around the host's memory and on a stream, which close frees.
type operands struct {
	stream  *kernels.Stream
	passing []*kernels.Array
}

func newOperands(stream C.uint64_t) (operands, error) {
	if stream == 0 {
		return operands{}, nil
	}
	r := held.get(uint64(stream))
	if r == nil || r.stream == nil {
		return operands{}, fmt.Errorf("current stream: %w", kernels.ErrClosed)
	}
	return operands{stream: r.stream}, nil
}

func (o *operands) array(v *C.kern_view) (*kernels.Array, error) {
	var a *kernels.Array
	var err error
	if v.handle != 0 {
		a, err = arrayOf(v.handle)
	} else {
		a, err = kernels.Borrow(viewOf(v), v.readonly != 0)
		if err == nil {
			o.passing = append(o.passing, a)
		}
	}
	if err != nil || o.stream == nil || o.stream.Device() != a.Device() {
		return a, err
	}
	if a, err = a.On(o.stream); err == nil {
		o.passing = append(o.passing, a)
	}
	return a, err
}

func (o *operands) number(d *kernels.Device, t backend.DType, v *C.kern_view) (*kernels.Array, error) {
	a, err := number(d, t, v)
	if err == nil {
		o.passing = append(o.passing, a)
	}
	return a, err
}

func (o *operands) close() {
	for _, a := range o.passing {
		_ = a.Free()
	}
}

// KernMap runs an elementwise program. out is nil for a new array.
//
//export KernMap
func KernMap(steps *C.kern_step, nsteps C.int, in **C.kern_view, nin C.int, out *C.kern_view, stream C.uint64_t, res *C.kern_view, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	a, err := mapArrays(unsafe.Slice(steps, int(nsteps)), unsafe.Slice(in, int(nin)), out, stream)
	if err != nil {
		return giveKern(err, e)
	}
	if out == nil {
		return deliver(a, nil, res, e)
	}
	return ok
}

func mapArrays(steps []C.kern_step, in []*C.kern_view, out *C.kern_view, stream C.uint64_t) (*kernels.Array, error) {
	o, err := newOperands(stream)
	if err != nil {
		return nil, err
	}
	defer o.close()
	var to *kernels.Array
	if out != nil {
		if to, err = o.array(out); err != nil {
			return nil, err
		}
	}
	var few [4]*kernels.Array
	arrays := few[:0]
	var first *kernels.Array
	for _, v := range in {
		if v.scalar != 0 {
			arrays = append(arrays, nil)
			continue
		}
		a, err := o.array(v)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = a
		}
		arrays = append(arrays, a)
	}
	if first == nil {
		return nil, &numberError{"dtype", "only numbers: at least one argument must be an array"}
	}
	program := make(backend.Program, len(steps), len(steps)+1)
	for i, s := range steps {
		program[i] = backend.Step{Op: backend.Op(s.op), S: float64(s.s), T: float64(s.t), In: int(s.in)}
	}
	if slices.Contains(arrays, nil) {
		if program, arrays, err = o.absorb(program, arrays, in, first); err != nil {
			return nil, err
		}
	}
	return kernels.Elementwise(program, to, arrays...)
}

// absorb deals with numbers among the inputs: as scalars of a step where one
// has the same meaning, else as arrays without dimensions.
func (o *operands) absorb(p backend.Program, arrays []*kernels.Array, in []*C.kern_view, first *kernels.Array) (backend.Program, []*kernels.Array, error) {
	t := first.DType()
	for _, v := range in {
		if v.scalar != 0 {
			if err := checkNumber(t, v); err != nil {
				return nil, nil, err
			}
		}
	}
	if len(p) == 1 && len(arrays) == 2 {
		if q, ok := scalarStep(p[0], arrays, in, t); ok {
			return q, []*kernels.Array{first}, nil
		}
		if arrays[0] == nil && p[0].Op == backend.Sub { // s - y as y under RSub
			p[0].Op = backend.RSub
			arrays[0], arrays[1] = arrays[1], nil
			in = []*C.kern_view{in[1], in[0]}
		}
	}
	for i, a := range arrays {
		if a != nil {
			continue
		}
		a, err := o.number(first.Device(), t, in[i])
		if err != nil {
			return nil, nil, err
		}
		arrays[i] = a
	}
	return p, arrays, nil
}

func scalarStep(s backend.Step, arrays []*kernels.Array, in []*C.kern_view, t backend.DType) (backend.Program, bool) {
	number := in[1]
	if arrays[0] == nil {
		number = in[0]
	}
	n := float64(number.f)
	if !t.Float() && (n > 1<<53 || n < -1<<53) {
		return nil, false
	}
	switch s.Op {
	case backend.Add:
		return backend.Program{{Op: backend.AddS, S: n}}, true
	case backend.Mul:
		return backend.Program{{Op: backend.Scale, S: n}}, true
	case backend.Sub:
		if arrays[1] == nil && t != backend.U8 && n != -1<<31 {
			return backend.Program{{Op: backend.AddS, S: -n}}, true
		}
	case backend.Axpy:
		if arrays[1] == nil {
			return backend.Program{{Op: backend.Scale, S: s.S}, {Op: backend.AddS, S: n}}, true
		}
	}
	return nil, false
}

// KernOperate runs the operation with a number of kern.h.
//
//export KernOperate
func KernOperate(kind C.int, x, y *C.kern_view, arg C.int64_t, out *C.kern_view, stream C.uint64_t, res *C.kern_view, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	a, err := operate(kind, x, y, int(arg), out, stream)
	if err != nil {
		return giveKern(err, e)
	}
	if out == nil {
		return deliver(a, nil, res, e)
	}
	return ok
}

func operate(kind C.int, x, y *C.kern_view, arg int, out *C.kern_view, stream C.uint64_t) (*kernels.Array, error) {
	if x.scalar != 0 || y != nil && y.scalar != 0 {
		return nil, &numberError{"dtype", "a number where an array is needed"}
	}
	o, err := newOperands(stream)
	if err != nil {
		return nil, err
	}
	defer o.close()
	a, err := o.array(x)
	if err != nil {
		return nil, err
	}
	var b, to *kernels.Array
	if y != nil {
		if b, err = o.array(y); err != nil {
			return nil, err
		}
	}
	if out != nil {
		if to, err = o.array(out); err != nil {
			return nil, err
		}
		if kind == C.KERN_CAST {
			return to, assign(to, a)
		}
	}
	made, err := compute(kind, a, b, arg)
	if err != nil || to == nil {
		return made, err
	}
	defer made.Free()
	if made.DType() != to.DType() {
		return nil, &kernels.DTypeError{Op: "out", Text: fmt.Sprintf("the result is %s, to be written to %s", made.DType(), to.DType())}
	}
	return to, assign(to, made)
}

// assign copies into an array of the same shape.
func assign(to, from *kernels.Array) error {
	if !slices.Equal(to.Shape(), from.Shape()) {
		return &kernels.ShapeError{Op: "out", Text: fmt.Sprintf("the result has shape %v, to be written to %v", from.Shape(), to.Shape())}
	}
	return to.Assign(from)
}

func compute(kind C.int, a, b *kernels.Array, arg int) (*kernels.Array, error) {
	switch kind {
	case C.KERN_SUM, C.KERN_MIN, C.KERN_MAX, C.KERN_MEAN:
		if arg == C.KERN_ALL_AXES {
			return [...]func(*kernels.Array) (*kernels.Array, error){kernels.Sum, kernels.Min, kernels.Max, kernels.Mean}[kind-C.KERN_SUM](a)
		}
		return [...]func(*kernels.Array, int) (*kernels.Array, error){
			kernels.SumAxis, kernels.MinAxis, kernels.MaxAxis, kernels.MeanAxis}[kind-C.KERN_SUM](a, arg)
	case C.KERN_DOT:
		return kernels.Dot(a, b)
	case C.KERN_MATMUL:
		return matmul(a, b)
	case C.KERN_SOFTMAX:
		return kernels.Softmax(a, arg)
	case C.KERN_CAST:
		if arg == 0 {
			return a.Copy()
		}
		return a.Cast(backend.DType(arg))
	case C.KERN_TO:
		d, err := device(C.int32_t(arg))
		if err != nil {
			return nil, err
		}
		return a.To(d)
	}
	return nil, fmt.Errorf("operation %d is not known", int(kind))
}

// matmul is the product of matrices, where either may be a vector, as numpy's.
func matmul(a, b *kernels.Array) (*kernels.Array, error) {
	var shape []int
	for i, x := range []**kernels.Array{&a, &b} {
		if len((*x).Shape()) != 1 {
			if len((*x).Shape()) == 2 {
				shape = append(shape, (*x).Shape()[i])
			}
			continue
		}
		flat := [2][]int{{1, -1}, {-1, 1}}[i]
		if (*x).Len() == 0 {
			flat = [2][]int{{1, 0}, {0, 1}}[i]
		}
		row, err := (*x).Reshape(flat...)
		if err != nil {
			return nil, err
		}
		defer row.Free()
		*x = row
	}
	product, err := kernels.MatMul(a, b)
	if err != nil || len(shape) == 2 || len(a.Shape()) != 2 || len(b.Shape()) != 2 {
		return product, err
	}
	defer product.Free()
	return product.Reshape(shape...)
}

// KernCopyInto copies x to out, which have the same shape and data type and
// may be on different devices.
//
//export KernCopyInto
func KernCopyInto(x, out *C.kern_view, stream C.uint64_t, e *C.kern_err) (r C.int) {
	defer guardKern(e, &r)
	if err := copyInto(x, out, stream); err != nil {
		return giveKern(err, e)
	}
	return ok
}

func copyInto(x, out *C.kern_view, stream C.uint64_t) error {
	if x.scalar != 0 || out.scalar != 0 {
		return &numberError{"dtype", "a number where an array is needed"}
	}
	o, err := newOperands(stream)
	if err != nil {
		return err
	}
	defer o.close()
	switch {
	case out.handle == 0 && x.handle != 0:
		a, err := o.array(x)
		if err != nil {
			return err
		}
		return a.CopyTo(viewOf(out))
	case x.handle == 0:
		a, err := o.array(out)
		if err != nil {
			return err
		}
		return a.CopyFrom(viewOf(x))
	}
	from, err := o.array(x)
	if err != nil {
		return err
	}
	to, err := o.array(out)
	if err != nil {
		return err
	}
	return assign(to, from)
}
