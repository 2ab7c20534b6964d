package kernels

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Elementwise runs a chain of steps over arrays: in[0] is x, the others are
// what the steps' In name. The arrays broadcast. The result goes to out, which
// may be one of in, and is returned; nil makes a new array.
func Elementwise(p Program, out *Array, in ...*Array) (*Array, error) {
	f, err := compileProgram("elementwise", p)
	if err != nil {
		return nil, err
	}
	return f.run("elementwise", out, in)
}

func (f *Fused) run(op string, out *Array, in []*Array) (*Array, error) {
	if len(in) != f.inputs {
		return nil, &ProgramError{op, fmt.Sprintf("%d arrays for a chain that takes %d", len(in), f.inputs)}
	}
	s, err := begin(op, out, in...)
	if err != nil {
		return nil, err
	}
	res, err := f.queue(op, s, out, in)
	end(out, in...)
	return res, err
}

// queue runs the program on arrays that are held.
func (f *Fused) queue(op string, s backend.Stream, out *Array, in []*Array) (*Array, error) {
	x := in[0]
	t := x.view.DType
	shape := x.view.Shape
	for _, y := range in[1:] {
		if y.view.DType != t {
			return nil, dtypeErr(op, "%s and %s; cast one of them", t, y.view.DType)
		}
		var err error
		if shape, err = broadcast(op, shape, y.view.Shape); err != nil {
			return nil, err
		}
	}
	program, err := f.lower(op, t)
	if err != nil {
		return nil, err
	}
	fresh := out == nil
	if fresh {
		stream := x.queue()
		for _, y := range in {
			if stream == nil {
				stream = y.queue()
			}
		}
		if out, err = empty(op, x.dev, t, shape, stream); err != nil {
			return nil, err
		}
	} else {
		if err := writable(op, out); err != nil {
			return nil, err
		}
		if out.view.DType != t {
			return nil, dtypeErr(op, "the result is %s, to be written to %s; cast the operands", t, out.view.DType)
		}
		if !slices.Equal(out.view.Shape, shape) {
			return nil, shapeErr(op, "the result has shape %v, to be written to %v", shape, out.view.Shape)
		}
	}
	if out.n == 0 {
		return out, nil
	}
	err = mapViews(out, s, program, in, fresh)
	if err != nil {
		if fresh {
			_ = out.Free()
		}
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return out, nil
}

// mapViews calls the device. An input that overlaps the result other than
// element by element is copied first.
func mapViews(out *Array, s backend.Stream, program Program, in []*Array, fresh bool) error {
	views := make([]backend.View, len(in))
	for i, a := range in {
		v := stretch(a.view, out.view.Shape)
		if !fresh && clash(out.view, v) {
			tmp, err := empty("copy", a.dev, v.DType, a.view.Shape, a.queue())
			if err != nil {
				return err
			}
			defer func() { _ = tmp.Free() }()
			if err := copyView("copy", a.dev, s, tmp.view, a.view); err != nil {
				return err
			}
			v = stretch(tmp.view, out.view.Shape)
		}
		views[i] = v
	}
	return out.dev.back.Map(s, program, out.view, views...)
}
