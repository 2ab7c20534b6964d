//go:build cuda && cgo

package cuda

// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"math"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
)

// openBLAS opens cuBLAS once for the process and says whether that went well.
var openBLAS = sync.OnceValue(func() bool {
	for _, path := range candidates("EAGLERAY_CUBLAS", "libcublas.so.12", "cublas") {
		if opened(path, func(p *C.char) *C.char { return C.er_blas_open(p) }) == "" {
			return true
		}
	}
	return false
})

// blas is cuBLAS's state for one device. One call at a time uses it.
type blas struct {
	mu     sync.Mutex
	handle unsafe.Pointer
	failed bool
}

// blasTypes are cuBLAS's numbers of a data type and of what to compute in.
var blasTypes = map[backend.DType][2]C.int{
	backend.F16:  {2, 68}, // CUDA_R_16F, CUBLAS_COMPUTE_32F
	backend.BF16: {14, 68},
	backend.F32:  {0, 68},
	backend.F64:  {1, 70},
}

// side describes a matrix as cuBLAS sees it, by columns: its leading dimension,
// and whether it is the transpose of what it should be.
func side(v backend.View) (leading int, transposed, ok bool) {
	size := v.DType.Size()
	rows, cols, row, col := v.Shape[0], v.Shape[1], v.Strides[0], v.Strides[1]
	if cols == 1 {
		col = size
	}
	if rows == 1 && col == size {
		row = max(cols, 1) * size
	}
	if col == size && row >= cols*size && row%size == 0 {
		return row / size, false, true
	}
	if rows == 1 {
		row = size
	}
	if row == size && col >= rows*size && col%size == 0 {
		return col / size, true, true
	}
	return 0, false, false
}

// gemm multiplies with cuBLAS. It is not done where there is none, or where
// cuBLAS does not take the matrices.
func (d *Device) gemm(s backend.Stream, out, a, b backend.View) (done bool, err error) {
	m, n, k := out.Shape[0], out.Shape[1], a.Shape[1]
	lda, transA, okA := side(a)
	ldb, transB, okB := side(b)
	ldc, transC, okC := side(out)
	if !okA || !okB || !okC || transC || k == 0 || max(m, n, k, lda, ldb, ldc) > math.MaxInt32 || !openBLAS() {
		return false, nil
	}
	d.blas.mu.Lock()
	defer d.blas.mu.Unlock()
	if d.blas.failed {
		return false, nil
	}
	types := blasTypes[out.DType]
	err = d.use(s, func(on cu.Stream) error {
		return d.do("cublasGemmEx", func() error {
			if d.blas.handle == nil {
				if C.er_blas_create(&d.blas.handle) != 0 {
					d.blas.failed = true
					return nil
				}
			}
			// What lies by rows is, by columns, the transpose: out' = b' a'.
			code := C.er_blas_gemm(d.blas.handle, C.uintptr_t(handle(on)), flag(transB), flag(transA), C.int(n), C.int(m), C.int(k),
				b.Ptr, C.int(ldb), a.Ptr, C.int(lda), out.Ptr, C.int(ldc), types[0], types[1])
			done = code == 0
			if code != 0 && code != blasNotSupported && code != blasInvalidValue {
				return &backend.DriverError{Device: d.name, Call: "cublasGemmEx", Code: int(code), Text: "cuBLAS failed"}
			}
			return nil
		})
	})
	return done, err
}

// What cuBLAS answers when it does not take the call; ours is used then.
const (
	blasInvalidValue = 7
	blasNotSupported = 15
)

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
