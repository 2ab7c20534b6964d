package kernels

import (
	"fmt"
	"testing"
)

// The lines that tests/bench compares with numpy use these sizes.
const (
	benchLarge = 16 << 20 // elements: 64 MiB of float32
	benchSmall = 16
)

func benchArray(b *testing.B, t DType, shape ...int) *Array {
	b.Helper()
	a, err := New(CPU(), t, shape...)
	if err == nil {
		err = AddScalarInPlace(a, 1)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Free() })
	return a
}

func BenchmarkInPlace(b *testing.B) {
	for _, n := range []int{benchSmall, 4096, benchLarge} {
		a, y := benchArray(b, F32, n), benchArray(b, F32, n)
		for name, op := range map[string]func() error{
			"scale": func() error { return ScaleInPlace(a, 1) },
			"add":   func() error { return AddInPlace(a, y) },
			"axpy":  func() error { return AxpyInPlace(2, y, a) },
			"clip":  func() error { return ClipInPlace(a, 0, 1) },
			"exp":   func() error { return ExpInPlace(y) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(a.NBytes()))
				for b.Loop() {
					if err := op(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range []int{benchSmall, benchLarge} {
		a := benchArray(b, F32, n)
		chain, err := Fuse(Step{Op: OpScale, S: 2}, Step{Op: OpAddS, S: 1}, Step{Op: OpClip, T: 10}, Step{Op: OpRelu})
		if err != nil {
			b.Fatal(err)
		}
		for name, op := range map[string]func() (*Array, error){
			"mul_two": func() (*Array, error) { return MulTwo(a) },
			"copy":    func() (*Array, error) { return a.Copy() },
			"sum":     func() (*Array, error) { return Sum(a) },
			"max":     func() (*Array, error) { return Max(a) },
			"dot":     func() (*Array, error) { return Dot(a, a) },
			"softmax": func() (*Array, error) { return Softmax(a, 0) },
			"fused":   func() (*Array, error) { return chain.Apply(a) },
			"half":    func() (*Array, error) { return a.Cast(F16) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(a.NBytes()))
				for b.Loop() {
					r, err := op()
					if err != nil {
						b.Fatal(err)
					}
					_ = r.Free()
				}
			})
		}
	}
}

func BenchmarkMatMul(b *testing.B) {
	for _, t := range []DType{F32, F64} {
		const n = 1024
		x, y := benchArray(b, t, n, n), benchArray(b, t, n, n)
		b.Run(t.String(), func(b *testing.B) {
			for b.Loop() {
				r, err := MatMul(x, y)
				if err != nil {
					b.Fatal(err)
				}
				_ = r.Free()
			}
			b.ReportMetric(2*n*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "gflop/s")
		})
	}
}
