//go:build cuda && cgo

package cuda

import (
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Softmax queues a softmax along one dimension.
func (d *Device) Softmax(s backend.Stream, out, in backend.View, axis int) error {
	if elements(out.Shape) == 0 {
		return nil
	}
	if overlap(out, in) && !same(out, in) {
		m, c, err := d.duplicate(s, in)
		if err != nil {
			return err
		}
		defer m.Free()
		in = c
	}
	dims, strides := simplify(without(out.Shape, axis), without(out.Strides, axis), without(in.Strides, axis))
	if len(dims) > maxRank {
		return d.softmaxCopies(s, out, in, axis)
	}
	rows := elements(dims)
	p := softmaxParams{
		rows: int64(rows), cols: int64(out.Shape[axis]), outer: shapeOf(dims),
		out: operandOf(out.Ptr, strides[0]), in: operandOf(in.Ptr, strides[1]),
		outStep: int64(out.Strides[axis]), inStep: int64(in.Strides[axis]),
	}
	if p.cols <= shortRow {
		return d.launch(s, "softmaxs", suffixes[out.DType], d.blocks(rows), unsafe.Pointer(&p))
	}
	return d.launch(s, "softmax", suffixes[out.DType], min(rows, d.processors*32), unsafe.Pointer(&p))
}

// softmaxCopies works on a contiguous copy, whose dimensions join.
func (d *Device) softmaxCopies(s backend.Stream, out, in backend.View, axis int) error {
	m, c, err := d.duplicate(s, in)
	if err != nil {
		return err
	}
	defer m.Free()
	if err := d.Softmax(s, c, c, axis); err != nil {
		return err
	}
	return d.copyApart(s, out, c)
}
