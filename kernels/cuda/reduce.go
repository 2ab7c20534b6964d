//go:build cuda && cgo

package cuda

import (
	"slices"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Reduce queues a reduction over one dimension, or over all with axis -1.
func (d *Device) Reduce(s backend.Stream, op backend.ReduceOp, out, in backend.View, axis int) error {
	if elements(out.Shape) == 0 {
		return nil
	}
	if elements(in.Shape) > 0 && overlap(out, in) {
		m, c, err := d.duplicate(s, in)
		if err != nil {
			return err
		}
		defer m.Free()
		in = c
	}
	r := reduction{op: op, to: out, from: in.DType, in: in.Ptr, count: elements(in.Shape)}
	if axis < 0 {
		dims, strides := simplify(in.Shape, in.Strides)
		r.innerDims, r.innerStrides = dims, strides[0]
		r.outerDims, r.outStrides, r.inStrides = nil, nil, nil
	} else {
		r.count = in.Shape[axis]
		r.innerDims, r.innerStrides = []int{r.count}, []int{in.Strides[axis]}
		dims, strides := simplify(without(in.Shape, axis), out.Strides, without(in.Strides, axis))
		r.outerDims, r.outStrides, r.inStrides = dims, strides[0], strides[1]
	}
	if len(r.innerDims) > maxRank || len(r.outerDims) > maxRank {
		return d.reduceCopies(s, op, out, in, axis)
	}
	return d.reduce(s, r)
}

// reduceCopies reduces by way of contiguous copies, whose dimensions join.
func (d *Device) reduceCopies(s backend.Stream, op backend.ReduceOp, out, in backend.View, axis int) error {
	mIn, from, err := d.duplicate(s, in)
	if err != nil {
		return err
	}
	defer mIn.Free()
	mOut, to, err := d.like(out)
	if err != nil {
		return err
	}
	defer mOut.Free()
	if err := d.Reduce(s, op, to, from, axis); err != nil {
		return err
	}
	return d.copyApart(s, out, to)
}

func without(s []int, axis int) []int { return slices.Delete(slices.Clone(s), axis, axis+1) }

// reduction is one with its dimensions taken apart: those that the output has,
// and those that are reduced.
type reduction struct {
	op                               backend.ReduceOp
	to                               backend.View
	from                             backend.DType
	in                               unsafe.Pointer
	count                            int
	outerDims, outStrides, inStrides []int
	innerDims, innerStrides          []int
}

func (d *Device) reduce(s backend.Stream, r reduction) error {
	outputs := elements(r.outerDims)
	p := reduceParams{
		outputs: int64(outputs), count: int64(r.count), parts: 1, op: int64(r.op), to: int64(r.to.DType), divisor: -1,
		outer: shapeOf(r.outerDims), inner: shapeOf(r.innerDims),
		out: operandOf(r.to.Ptr, r.outStrides), in: operandOf(r.in, r.inStrides), step: operandOf(nil, r.innerStrides),
	}
	if r.op == backend.Mean {
		p.divisor = float64(r.count)
	}
	// What is accumulated in: integers in i64, unless the outcome is no integer.
	variant, accumulator := "", backend.F64
	if !r.from.Float() {
		if accumulator = backend.I64; r.to.DType.Float() {
			variant, accumulator = "f", backend.F64
		}
	}
	if r.count <= shortRow || outputs >= d.processors*threads/2 && !fastest(r) {
		return d.launch(s, "columns"+variant, suffixes[r.from], d.blocks(outputs), unsafe.Pointer(&p))
	}
	parts := min((r.count+threads*16-1)/(threads*16), d.processors*8/outputs)
	if parts <= 1 {
		return d.launch(s, "rows"+variant, suffixes[r.from], min(outputs, d.processors*32), unsafe.Pointer(&p))
	}
	partial, err := d.alloc(outputs * parts * accumulator.Size())
	if err != nil {
		return err
	}
	defer partial.Free() // waits for both launches
	first := p
	first.parts, first.partial = int64(parts), uintptr(partial.ptr)
	if err := d.launch(s, "rows"+variant, suffixes[r.from], min(outputs*parts, d.processors*32), unsafe.Pointer(&first)); err != nil {
		return err
	}
	return d.combine(s, accumulator, partial, parts, p)
}

// fastest says whether the elements that are reduced are those that lie closest.
func fastest(r reduction) bool {
	if len(r.innerStrides) == 0 || len(r.inStrides) == 0 {
		return true
	}
	return abs(r.innerStrides[len(r.innerStrides)-1]) <= abs(r.inStrides[len(r.inStrides)-1])
}

// combine reduces the parts that stand for each of p's outputs.
func (d *Device) combine(s backend.Stream, accumulator backend.DType, partial *memory, parts int, p reduceParams) error {
	dims := make([]int, p.outer.rank)
	for i := range dims {
		dims[i] = int(p.outer.dim[i])
	}
	size := accumulator.Size()
	p.count, p.parts = int64(parts), 1
	p.inner, p.step = shapeOf([]int{parts}), operandOf(nil, []int{size})
	p.in = operandOf(partial.Ptr(), contiguous(dims, parts*size))
	return d.launch(s, "rows", suffixes[accumulator], min(int(p.outputs), d.processors*32), unsafe.Pointer(&p))
}

// Dot queues the product of two vectors.
func (d *Device) Dot(s backend.Stream, out, a, b backend.View) error {
	n, accumulator := a.Shape[0], backend.I64
	if a.DType.Float() {
		accumulator = backend.F64
	}
	blocks := max(1, min((n+threads-1)/threads, d.processors*4))
	partial, err := d.alloc(blocks * accumulator.Size())
	if err != nil {
		return err
	}
	defer partial.Free()
	p := dotParams{n: int64(n), a: operandOf(a.Ptr, a.Strides), b: operandOf(b.Ptr, b.Strides), partial: uintptr(partial.ptr)}
	if err := d.launch(s, "dot", suffixes[a.DType], blocks, unsafe.Pointer(&p)); err != nil {
		return err
	}
	return d.combine(s, accumulator, partial, blocks, reduceParams{
		outputs: 1, op: int64(backend.Sum), to: int64(out.DType), divisor: -1, out: operandOf(out.Ptr, nil),
	})
}
