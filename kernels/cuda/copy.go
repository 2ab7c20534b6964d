//go:build cuda && cgo

package cuda

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Copy copies and converts within the device.
func (d *Device) Copy(s backend.Stream, dst, src backend.View) error {
	if elements(dst.Shape) == 0 || same(dst, src) {
		return nil
	}
	if overlap(dst, src) {
		m, c, err := d.duplicate(s, src)
		if err != nil {
			return err
		}
		defer m.Free()
		src = c
	}
	return d.copyApart(s, dst, src)
}

// duplicate copies a view to contiguous memory of its own.
func (d *Device) duplicate(s backend.Stream, v backend.View) (*memory, backend.View, error) {
	m, c, err := d.like(v)
	if err != nil {
		return nil, c, err
	}
	if err := d.copyApart(s, c, v); err != nil {
		_ = m.Free()
		return nil, c, err
	}
	return m, c, nil
}

// like is contiguous memory for the elements of v.
func (d *Device) like(v backend.View) (*memory, backend.View, error) {
	size := v.DType.Size()
	m, err := d.alloc(elements(v.Shape) * size)
	if err != nil {
		return nil, v, err
	}
	return m, backend.View{Ptr: m.Ptr(), DType: v.DType, Shape: v.Shape, Strides: contiguous(v.Shape, size)}, nil
}

// copyApart copies between views that do not overlap.
func (d *Device) copyApart(s backend.Stream, dst, src backend.View) error {
	dims, strides := simplify(dst.Shape, dst.Strides, src.Strides)
	dst.Shape, dst.Strides, src.Shape, src.Strides = dims, strides[0], dims, strides[1]
	n, size := elements(dims), dst.DType.Size()
	if dst.DType == src.DType && (len(dims) == 0 || len(dims) == 1 && dst.Strides[0] == size && src.Strides[0] == size) {
		return d.use(s, func(on cu.Stream) error {
			return d.do("cuMemcpyDtoDAsync", func() error {
				return cu.MemcpyDtoDAsync(devicePtr(dst.Ptr), devicePtr(src.Ptr), int64(n*size), on)
			})
		})
	}
	kernel, suffix := "cast", suffixes[src.DType]
	if dst.DType == src.DType {
		kernel, suffix = "copy", fmt.Sprintf("b%d", size)
	}
	return eachSlice([]backend.View{dst, src}, func(v []backend.View) error {
		p := copyParams{n: int64(elements(v[0].Shape)), to: int64(dst.DType), shape: shapeOf(v[0].Shape),
			dst: operandOf(v[0].Ptr, v[0].Strides), src: operandOf(v[1].Ptr, v[1].Strides)}
		return d.launch(s, kernel, suffix, d.blocks(int(p.n)), unsafe.Pointer(&p))
	})
}

func devicePtr(p unsafe.Pointer) cu.DevicePtr { return cu.DevicePtr(uintptr(p)) }
