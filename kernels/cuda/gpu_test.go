//go:build cuda && cgo

package cuda

import (
	"math/rand/v2"
	"testing"

	"github.com/eagleray/eagleray/kernels/backend"
)

// These run on a GPU only: EAGLERAY_TEST_GPU=1 go test -tags cuda -run GPU -bench GPU ./kernels/cuda
// The other tests run there too, apart from those that need the stand-in.

func needGPU(t testing.TB) *Device {
	t.Helper()
	if !realGPU {
		t.Skip("needs a GPU: EAGLERAY_TEST_GPU=1")
	}
	return device(t)
}

const gpuBytes = 1 << 29

// bandwidth is bytes read and written per second, by the device's clock.
func bandwidth(t testing.TB, d *Device, bytes int, queue func() error) float64 {
	t.Helper()
	const rounds = 20
	must(t, queue()) // loads the kernel
	start, err := d.NewEvent(nil)
	must(t, err)
	for range rounds {
		must(t, queue())
	}
	end, err := d.NewEvent(nil)
	must(t, err)
	must(t, end.Synchronize())
	ms, err := end.Since(start)
	must(t, err)
	return float64(bytes) * rounds / ms * 1e3
}

// TestGPUBandwidth compares elementwise kernels with the device's own copy.
func TestGPUBandwidth(t *testing.T) {
	d := needGPU(t)
	n := gpuBytes / 4
	x, y := view(t, d, backend.F32, n), view(t, d, backend.F32, n)
	must(t, d.Map(nil, backend.Program{{Op: backend.Scale}}, x, x))
	must(t, d.Map(nil, backend.Program{{Op: backend.Scale}}, y, y))
	reference := bandwidth(t, d, 2*gpuBytes, func() error { return d.Copy(nil, y, x) })
	t.Logf("copy: %.0f GB/s", reference/1e9)
	chain := backend.Program{{Op: backend.Scale, S: 2}, {Op: backend.AddS, S: 1}, {Op: backend.Clip, T: 9}, {Op: backend.Relu}}
	for _, c := range []struct {
		name  string
		least float64
		bytes int
		queue func() error
	}{
		{"mul_two in place", 0.9, 2 * gpuBytes, func() error { return d.Map(nil, backend.Program{{Op: backend.Scale, S: 2}}, x, x) }},
		{"mul_two", 0.9, 2 * gpuBytes, func() error { return d.Map(nil, backend.Program{{Op: backend.Scale, S: 2}}, y, x) }},
		{"add", 0.9, 3 * gpuBytes, func() error { return d.Map(nil, backend.Program{{Op: backend.Add, In: 1}}, y, x, y) }},
		{"a fused chain of 4", 0.7, 2 * gpuBytes, func() error { return d.Map(nil, chain, y, x) }},
	} {
		got := bandwidth(t, d, c.bytes, c.queue)
		t.Logf("%s: %.0f GB/s, %.2f of copy", c.name, got/1e9, got/reference)
		if got < c.least*reference {
			t.Errorf("%s: %.2f of the copy's bandwidth, want %.2f", c.name, got/reference, c.least)
		}
	}
}

func BenchmarkGPULaunch(b *testing.B) {
	d := needGPU(b)
	x := view(b, d, backend.F32, 256)
	p := backend.Program{{Op: backend.Scale, S: 2}}
	for b.Loop() {
		must(b, d.Map(nil, p, x, x))
	}
	must(b, d.Synchronize())
}

func BenchmarkGPUMatMul(b *testing.B) {
	d := needGPU(b)
	const n = 4096
	r := rand.New(rand.NewPCG(1, 1))
	for _, own := range []bool{true, false} {
		name := "cuBLAS"
		if own {
			name = "own"
		}
		b.Run(name, func(b *testing.B) {
			a := newArray(b, d, r, packed, backend.F32, []int{n, n}, plain)
			c := newArray(b, d, r, packed, backend.F32, []int{n, n}, plain)
			d.blas.failed = own
			b.Cleanup(func() { d.blas.failed = false })
			for b.Loop() {
				must(b, d.MatMul(nil, c.View, a.View, a.View))
				must(b, d.Synchronize())
			}
			b.ReportMetric(2*n*n*n*float64(b.N)/b.Elapsed().Seconds()/1e12, "TFLOP/s")
		})
	}
}

// BenchmarkLaunch is what a launch costs here: the stand-in's own part, which
// runs one block, is in it.
func BenchmarkLaunch(b *testing.B) {
	d := device(b)
	x := view(b, d, backend.F32, 4)
	p := backend.Program{{Op: backend.Scale, S: 2}}
	b.ReportAllocs()
	for b.Loop() {
		must(b, d.Map(nil, p, x, x))
	}
}
