package kernels

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// CopyFrom sets the elements from host memory of the same shape and data type.
// The host's memory may be changed after the call.
func (a *Array) CopyFrom(host backend.View) error { return a.transfer("copy from host", host, true) }

// CopyTo writes the elements to host memory of the same shape and data type,
// after the work that was queued before.
func (a *Array) CopyTo(host backend.View) error { return a.transfer("copy to host", host, false) }

func (a *Array) transfer(op string, host backend.View, in bool) error {
	if err := checkView(op, host); err != nil {
		return err
	}
	s, err := begin(op, nil, a)
	if err != nil {
		return err
	}
	defer end(nil, a)
	if host.DType != a.view.DType {
		return dtypeErr(op, "the array is %s, the host's memory %s", a.view.DType, host.DType)
	}
	if !slices.Equal(host.Shape, a.view.Shape) {
		return shapeErr(op, "the array has shape %v, the host's memory %v", a.view.Shape, host.Shape)
	}
	if in {
		if err := writable(op, a); err != nil {
			return err
		}
		if a.n > 0 {
			err = a.dev.back.Upload(s, a.view, host)
		}
	} else if a.n > 0 {
		err = a.dev.back.Download(s, host, a.view)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// Copy is a new array with the same elements, in C order.
func (a *Array) Copy() (*Array, error) { return a.convert("copy", a.view.DType) }

// Cast is a new array with the elements converted to another data type. From
// floating point to an integer it rounds towards zero and saturates, NaN
// becomes 0; between integers it wraps around.
func (a *Array) Cast(t DType) (*Array, error) {
	if !t.Valid() {
		return nil, dtypeErr("cast", "%v is no data type", t)
	}
	return a.convert("cast", t)
}

func (a *Array) convert(op string, t DType) (*Array, error) {
	s, err := begin(op, nil, a)
	if err != nil {
		return nil, err
	}
	defer end(nil, a)
	out, err := empty(op, a.dev, t, a.view.Shape, a.queue())
	if err != nil {
		return nil, err
	}
	if err := copyView(op, a.dev, s, out.view, a.view); err != nil {
		_ = out.Free()
		return nil, err
	}
	return out, nil
}

func copyView(op string, d *Device, s backend.Stream, dst, src backend.View) error {
	if count(dst.Shape) == 0 {
		return nil
	}
	if err := d.back.Copy(s, dst, src); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// Assign sets the elements of a from those of src, which broadcast to a's
// shape and are converted to its data type. The two may overlap and may be on
// different devices.
func (a *Array) Assign(src *Array) error {
	const op = "assign"
	if src != nil && a != nil && src.dev != a.dev {
		near, err := src.To(a.dev)
		if err != nil {
			return err
		}
		defer func() { _ = near.Free() }()
		src = near
	}
	s, err := begin(op, a, src)
	if err != nil {
		return err
	}
	defer end(a, src)
	if err := writable(op, a); err != nil {
		return err
	}
	shape, err := broadcast(op, a.view.Shape, src.view.Shape)
	if err != nil {
		return err
	}
	if !slices.Equal(shape, a.view.Shape) {
		return shapeErr(op, "shape %v does not broadcast to %v", src.view.Shape, a.view.Shape)
	}
	return copyView(op, a.dev, s, a.view, stretch(src.view, shape))
}

// To is a new array with the same elements on a device: always a copy, also on
// the same device. It never happens on its own.
func (a *Array) To(d *Device) (*Array, error) {
	const op = "to"
	if d == nil {
		return nil, &DeviceError{op, "the device is nil"}
	}
	if a != nil && d == a.dev {
		return a.convert(op, a.view.DType)
	}
	s, err := begin(op, nil, a)
	if err != nil {
		return nil, err
	}
	defer end(nil, a)
	out, err := empty(op, d, a.view.DType, a.view.Shape, nil)
	if err != nil || a.n == 0 {
		return out, err
	}
	switch {
	case a.dev.host:
		err = d.back.Upload(nil, out.view, a.view)
	case d.host:
		err = a.dev.back.Download(s, out.view, a.view)
	default:
		err = through(s, a, out)
	}
	if err != nil {
		_ = out.Free()
		return nil, fmt.Errorf("copy %s to %s: %w", a.describe(), d.name, err)
	}
	return out, nil
}

// through copies between two devices by way of the host.
func through(s backend.Stream, a, out *Array) error {
	stage, err := Empty(CPU(), a.view.DType, a.view.Shape...)
	if err != nil {
		return err
	}
	defer func() { _ = stage.Free() }()
	if err := a.dev.back.Download(s, stage.view, a.view); err != nil {
		return err
	}
	return out.dev.back.Upload(nil, out.view, stage.view)
}

// writable refuses arrays that an operation may not write to.
func writable(op string, a *Array) error {
	if a.readOnly {
		return fmt.Errorf("%s: array %s: %w", op, a.describe(), ErrReadOnly)
	}
	if repeats(a.view) {
		return shapeErr(op, "strides %v show elements more than once, so they cannot be written", a.view.Strides)
	}
	return nil
}

// Item is the element of an array that has one.
func Item[T Element](a *Array) (T, error) {
	var x T
	if a.n != 1 {
		return x, shapeErr("item", "shape %v has %d elements", a.view.Shape, a.n)
	}
	if t := DTypeOf[T](); a.view.DType != t {
		return x, dtypeErr("item", "the array is %s, not %s", a.view.DType, t)
	}
	p := new(T)
	v := backend.View{Ptr: unsafe.Pointer(p), DType: a.view.DType, Shape: a.view.Shape}
	v.Strides = make([]int, len(v.Shape))
	err := a.CopyTo(v)
	return *p, err
}
