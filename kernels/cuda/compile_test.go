//go:build cuda && cgo

package cuda

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

const userSource = `
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

template <class T> __global__ void fill(T *y, T v) { y[threadIdx.x] = v; }

__global__ void reversed(int *x) {
    extern __shared__ int buffer[];
    int i = threadIdx.x;
    buffer[i] = x[i];
    __syncthreads();
    x[i] = buffer[blockDim.x - 1 - i];
}

#ifdef FACTOR
__global__ void multiply(long long *x) { *x *= FACTOR; }
#endif
`

func compiled(t *testing.T, d *Device, name string, options ...string) backend.Function {
	t.Helper()
	f, err := d.Compile(userSource, name, options)
	must(t, err)
	t.Cleanup(func() { must(t, f.Close()) })
	return f
}

func pointers[A, B, C, D any](a *A, b *B, c *C, d *D) []unsafe.Pointer {
	return []unsafe.Pointer{unsafe.Pointer(a), unsafe.Pointer(b), unsafe.Pointer(c), unsafe.Pointer(d)}
}

func TestKernelOfTheUser(t *testing.T) {
	d := device(t)
	const n = 1000
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	in, out := view(t, d, backend.F32, n), view(t, d, backend.F32, n)
	must(t, d.Upload(nil, in, host(backend.F32, x, n)))
	must(t, d.Upload(nil, out, host(backend.F32, x, n)))
	f := compiled(t, d, "saxpy")
	a, size := float32(3), int32(n)
	s, err := d.NewStream()
	must(t, err)
	defer s.Close()
	must(t, f.Launch(s, [3]int{4, 1, 1}, [3]int{256, 1, 1}, 0, pointers(&a, &in.Ptr, &out.Ptr, &size)))
	must(t, s.Synchronize())
	must(t, d.Download(nil, host(backend.F32, x, n), out))
	for i := range x {
		if x[i] != float32(4*i) {
			t.Fatalf("element %d is %v", i, x[i])
		}
	}
}

func TestKernelsOfCPlusPlus(t *testing.T) {
	d := device(t)
	v := view(t, d, backend.F64, 8)
	value := math.Pi
	must(t, compiled(t, d, "fill<double>").Launch(nil, [3]int{1, 1, 1}, [3]int{8, 1, 1}, 0, []unsafe.Pointer{unsafe.Pointer(&v.Ptr), unsafe.Pointer(&value)}))
	got := make([]float64, 8)
	must(t, d.Download(nil, host(backend.F64, got, 8), v))
	for _, g := range got {
		if g != math.Pi {
			t.Fatal(got)
		}
	}
	ints := []int32{1, 2, 3, 4, 5}
	w := view(t, d, backend.I32, 5)
	must(t, d.Upload(nil, w, host(backend.I32, ints, 5)))
	must(t, compiled(t, d, "reversed").Launch(nil, [3]int{1, 1, 1}, [3]int{5, 1, 1}, 20, []unsafe.Pointer{unsafe.Pointer(&w.Ptr)}))
	must(t, d.Download(nil, host(backend.I32, ints, 5), w))
	if ints[0] != 5 || ints[4] != 1 {
		t.Fatal(ints)
	}
	one := []int64{21}
	u := view(t, d, backend.I64, 1)
	must(t, d.Upload(nil, u, host(backend.I64, one, 1)))
	must(t, compiled(t, d, "multiply", "-DFACTOR=2").Launch(nil, [3]int{1, 1, 1}, [3]int{1, 1, 1}, 0, []unsafe.Pointer{unsafe.Pointer(&u.Ptr)}))
	must(t, d.Download(nil, host(backend.I64, one, 1), u))
	if one[0] != 42 {
		t.Fatal(one)
	}
}

func TestKernelsThatDoNotCompile(t *testing.T) {
	d := device(t)
	for _, c := range []struct{ source, name, log string }{
		{"__global__ void f() { undeclared(); }", "f", "undeclared"},
		{"__global__ void f() {}", "g", "g"},
		{"", "f", "f"},
		{"__global__ void f() {}\x00", "f", "zero byte"},
	} {
		_, err := d.Compile(c.source, c.name, nil)
		var wrong *backend.CompileError
		if !errors.As(err, &wrong) || wrong.Name != c.name || !strings.Contains(wrong.Log, c.log) {
			t.Errorf("%q: %v", c.source, err)
		}
	}
	var wrong *backend.CompileError
	if _, err := d.Compile(userSource, "saxpy", []string{"--no-such-option"}); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
}

func TestLaunchesThatCannotBe(t *testing.T) {
	d := device(t)
	f, err := d.Compile(userSource, "reversed", nil)
	must(t, err)
	v := view(t, d, backend.I32, 4)
	args := []unsafe.Pointer{unsafe.Pointer(&v.Ptr)}
	for _, block := range [][3]int{{0, 1, 1}, {2048, 1, 1}} {
		var driver *backend.DriverError
		if err := f.Launch(nil, [3]int{1, 1, 1}, block, 0, args); !errors.As(err, &driver) || driver.Code != 1 {
			t.Errorf("%v: %v", block, err)
		}
	}
	must(t, f.Close())
	must(t, f.Close())
	if err := f.Launch(nil, [3]int{1, 1, 1}, [3]int{4, 1, 1}, 16, args); !errors.Is(err, errClosed) {
		t.Errorf("after closing: %v", err)
	}
}

func init() {
	children["compile"] = func() {
		d := opened0()
		_, err := d.Compile(userSource, "saxpy", nil)
		var unsupported *backend.UnsupportedError
		os.Stdout.WriteString(boolText(errors.As(err, &unsupported)) + " " + err.Error())
	}
}

func boolText(b bool) string {
	if b {
		return "unsupported:"
	}
	return "other:"
}

func TestNoNVRTC(t *testing.T) {
	got := child(t, "compile", "EAGLERAY_NVRTC="+filepath.Join(t.TempDir(), "libnvrtc.so.12"))
	wantText(t, got, "unsupported: ", "pip install nvidia-cuda-nvrtc-cu12", "EAGLERAY_NVRTC")
	wantText(t, child(t, "compile", "EAGLERAY_NVRTC="+os.Getenv("EAGLERAY_LIBCUDA")), "unsupported: ", "has no nvrtcCreateProgram")
}
