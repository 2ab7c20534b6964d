//go:build cuda && cgo

package cuda

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
	"github.com/eagleray/eagleray/kernels/cuda/fakecuda"
)

// realGPU says that the tests run on the machine's own driver; tests/gpu does so.
var realGPU = os.Getenv("EAGLERAY_TEST_GPU") == "1"

func TestMain(m *testing.M) {
	if f := children[os.Getenv(childVariable)]; f != nil {
		f()
		os.Exit(0)
	}
	if !realGPU {
		if err := fakecuda.Use(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func device(t testing.TB) *Device {
	t.Helper()
	d, err := Backend().Open(0)
	if err != nil {
		t.Fatal(err)
	}
	return d.(*Device)
}

// view is a C-contiguous view of new device memory, which ends with the test.
func view(t testing.TB, d *Device, dtype backend.DType, shape ...int) backend.View {
	t.Helper()
	m, err := d.Alloc(elements(shape) * dtype.Size())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Free(); err != nil {
			t.Error(err)
		}
	})
	return backend.View{Ptr: m.Ptr(), DType: dtype, Shape: shape, Strides: contiguous(shape, dtype.Size())}
}

// onThread runs f on one thread of the system.
func onThread(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return f()
}

func currentContext() (uintptr, error) {
	c, err := cu.CurrentContext()
	return handle(c), err
}
