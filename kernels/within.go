package kernels

import "github.com/eagleray/eagleray/kernels/backend"

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
