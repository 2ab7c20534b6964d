package kernels

import "fmt"

// Dot is the sum of the products of two arrays with one dimension and the same
// length. It has the arrays' data type, as in numpy.
func Dot(a, b *Array) (*Array, error) {
	const op = "dot"
	s, err := begin(op, nil, a, b)
	if err != nil {
		return nil, err
	}
	defer end(nil, a, b)
	if len(a.view.Shape) != 1 || len(b.view.Shape) != 1 || a.n != b.n {
		return nil, shapeErr(op, "shapes %v and %v; it takes two arrays with one dimension and one length", a.view.Shape, b.view.Shape)
	}
	if a.view.DType != b.view.DType {
		return nil, dtypeErr(op, "%s and %s; cast one of them", a.view.DType, b.view.DType)
	}
	out, err := empty(op, a.dev, a.view.DType, nil, inherit(a, b))
	if err != nil {
		return nil, err
	}
	if err := a.dev.back.Dot(s, out.view, a.view, b.view); err != nil {
		_ = out.Free()
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return out, nil
}

// MatMul is the product of two matrices of floating point.
func MatMul(a, b *Array) (*Array, error) {
	const op = "matmul"
	s, err := begin(op, nil, a, b)
	if err != nil {
		return nil, err
	}
	defer end(nil, a, b)
	if len(a.view.Shape) != 2 || len(b.view.Shape) != 2 || a.view.Shape[1] != b.view.Shape[0] {
		return nil, shapeErr(op, "shapes %v and %v; it takes (m, k) and (k, n)", a.view.Shape, b.view.Shape)
	}
	if a.view.DType != b.view.DType {
		return nil, dtypeErr(op, "%s and %s; cast one of them", a.view.DType, b.view.DType)
	}
	if !a.view.DType.Float() {
		return nil, dtypeErr(op, "it needs floating point, not %s; cast the arrays to float32 or float64", a.view.DType)
	}
	out, err := empty(op, a.dev, a.view.DType, []int{a.view.Shape[0], b.view.Shape[1]}, inherit(a, b))
	if err != nil || out.n == 0 {
		return out, err
	}
	if err := a.dev.back.MatMul(s, out.view, a.view, b.view); err != nil {
		_ = out.Free()
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return out, nil
}

// Softmax is exp(x) over the sum of exp(x) along an axis, of floating point.
func Softmax(a *Array, axis int) (*Array, error) {
	const op = "softmax"
	s, err := begin(op, nil, a)
	if err != nil {
		return nil, err
	}
	defer end(nil, a)
	if axis, err = a.axis(op, axis); err != nil {
		return nil, err
	}
	if !a.view.DType.Float() {
		return nil, dtypeErr(op, "it needs floating point, not %s; cast the array to float32 or float64", a.view.DType)
	}
	out, err := empty(op, a.dev, a.view.DType, a.view.Shape, a.queue())
	if err != nil || out.n == 0 {
		return out, err
	}
	if err := a.dev.back.Softmax(s, out.view, a.view, axis); err != nil {
		_ = out.Free()
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return out, nil
}

func inherit(a, b *Array) *Stream {
	if s := a.queue(); s != nil {
		return s
	}
	return b.queue()
}
