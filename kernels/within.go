package kernels

import "github.com/eagleray/eagleray/kernels/backend"

// Borrow is an array around memory of the host for the length of a call: the
// caller keeps the memory and v's slices, and frees the array. It costs less
// than Wrap, as the collector does not look after it.
func Borrow(v backend.View, readOnly bool) (*Array, error) {
	if err := checkView("borrow", v); err != nil {
		return nil, err
	}
	d := CPU()
	h := &handle{block: &block{mem: d.back.Adopt(v.Ptr, v.DType.Size())}}
	h.block.refs.Store(1)
	return &Array{h: h, dev: d, view: v, n: count(v.Shape), readOnly: readOnly}, nil
}

// Within is a view of any shape, strides and data type whose elements lie
// between a's first and last byte: for bindings that compute their own views.
func (a *Array) Within(v backend.View, readOnly bool) (*Array, error) {
	if err := checkView("view", v); err != nil {
		return nil, err
	}
	lo, hi := span(a.view)
	from, to := span(v)
	if from < to && (from < lo || to > hi) {
		return nil, shapeErr("view", "shape %v with strides %v leaves the memory of %s", v.Shape, v.Strides, a.describe())
	}
	b, err := a.share("view", v)
	if err == nil {
		b.readOnly = a.readOnly || readOnly
	}
	return b, err
}
