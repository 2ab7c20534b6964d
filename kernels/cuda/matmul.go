//go:build cuda && cgo

package cuda

import (
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// The elements of a side of the tile that a block of the matmul kernel computes.
const matmulTile = 64

// MatMul queues a product of matrices: with cuBLAS where it can be loaded and
// takes the strides, else with the kernel of this package.
func (d *Device) MatMul(s backend.Stream, out, a, b backend.View) error {
	if elements(out.Shape) == 0 {
		return nil
	}
	views := []*backend.View{&a, &b}
	for _, v := range views {
		if elements(v.Shape) == 0 || !overlap(out, *v) {
			continue
		}
		m, c, err := d.duplicate(s, *v)
		if err != nil {
			return err
		}
		defer m.Free()
		*v = c
	}
	if done, err := d.gemm(s, out, a, b); done || err != nil {
		return err
	}
	m, n, k := out.Shape[0], out.Shape[1], a.Shape[1]
	p := matmulParams{
		m: int64(m), n: int64(n), k: int64(k), out: uintptr(out.Ptr), a: uintptr(a.Ptr), b: uintptr(b.Ptr),
		outRow: int64(out.Strides[0]), outCol: int64(out.Strides[1]),
		aRow: int64(a.Strides[0]), aCol: int64(a.Strides[1]),
		bRow: int64(b.Strides[0]), bCol: int64(b.Strides[1]),
	}
	tiles := ((m + matmulTile - 1) / matmulTile) * ((n + matmulTile - 1) / matmulTile)
	return d.launch(s, "matmul", suffixes[out.DType], min(tiles, 1<<20), unsafe.Pointer(&p))
}
