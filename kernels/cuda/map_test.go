//go:build cuda && cgo

package cuda

import (
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

func host[T any](t backend.DType, s []T, shape ...int) backend.View {
	return backend.View{Ptr: unsafe.Pointer(unsafe.SliceData(s)), DType: t, Shape: shape, Strides: contiguous(shape, t.Size())}
}

func TestMulTwo(t *testing.T) {
	d := device(t)
	for _, n := range []int{1, 3, 4, 1000, 5000} {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i)
		}
		v := view(t, d, backend.F32, n)
		if err := d.Upload(nil, v, host(backend.F32, x, n)); err != nil {
			t.Fatal(err)
		}
		if err := d.Map(nil, backend.Program{{Op: backend.Scale, S: 2}}, v, v); err != nil {
			t.Fatal(err)
		}
		got := make([]float32, n)
		if err := d.Download(nil, host(backend.F32, got, n), v); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != 2*float32(i) {
				t.Fatalf("n=%d: element %d is %v", n, i, got[i])
			}
		}
	}
}
