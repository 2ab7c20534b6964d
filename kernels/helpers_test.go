package kernels

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// halves makes an array of 16-bit numbers from their bits.
func halves(t *testing.T, dt DType, bits []uint16) *Array {
	t.Helper()
	v := backend.View{Ptr: unsafe.Pointer(unsafe.SliceData(bits)), DType: dt, Shape: []int{len(bits)}, Strides: []int{2}}
	a := must(FromHost(CPU(), v))(t)
	runtime.KeepAlive(bits)
	return a
}
