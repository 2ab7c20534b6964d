//go:build cuda && cgo

package cuda_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels"
	"github.com/eagleray/eagleray/kernels/backend"
)

// pair is the same array on the processor and on the CUDA device.
type pair [2]*kernels.Array

var types = []kernels.DType{kernels.F16, kernels.BF16, kernels.F32, kernels.F64, kernels.I32, kernels.I64, kernels.U8}

func (p pair) each(t *testing.T, f func(*kernels.Array) (*kernels.Array, error)) (out pair) {
	t.Helper()
	for i, a := range p {
		var err error
		if out[i], err = f(a); err != nil {
			t.Fatalf("on %s: %v", a.Device().Name(), err)
		}
		t.Cleanup(func() { _ = out[i].Free() })
	}
	return out
}

// pairOf makes random elements, and views of them that may be transposed,
// reversed or with gaps.
func pairOf(t *testing.T, devices [2]*kernels.Device, r *rand.Rand, dtype kernels.DType, shape []int) pair {
	t.Helper()
	doubles := make([]float64, max(product(shape)*2, 1))
	for i := range doubles {
		doubles[i] = math.Trunc(r.NormFloat64()*1000) / 8
		if r.IntN(40) == 0 && dtype.Float() {
			doubles[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 1e-7, 65519}[r.IntN(6)]
		}
	}
	wide := append(append([]int{}, shape...), 2) // every other element is of the view
	at, step := r.IntN(2), 1-2*r.IntN(2)
	perm := r.Perm(len(shape))
	inner := make([]int, len(shape)) // the shape that, transposed, is shape
	for i, d := range perm {
		inner[d] = shape[i]
	}
	copy(wide, inner)
	var p pair
	for i, d := range devices {
		a, err := kernels.FromSlice(d, doubles[:product(wide)], wide...)
		p[i] = a
		fatal(t, err)
	}
	return p.each(t, func(a *kernels.Array) (*kernels.Array, error) { return a.Cast(dtype) }).
		each(t, func(a *kernels.Array) (*kernels.Array, error) { return a.Slice(len(shape), at, at+1, 1) }).
		each(t, func(a *kernels.Array) (*kernels.Array, error) { return a.Reshape(inner...) }).
		each(t, func(a *kernels.Array) (*kernels.Array, error) { return a.Transpose(perm...) }).
		each(t, func(a *kernels.Array) (*kernels.Array, error) {
			if len(shape) == 0 || step == 1 {
				return a.Share()
			}
			return a.Slice(0, kernels.End, kernels.Begin, -1)
		})
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same compares: byte by byte, apart from NaNs' payloads, or with a tolerance.
func (p pair) same(t *testing.T, what string, tolerance float64) {
	t.Helper()
	if a, b := fmt.Sprint(p[0].Shape(), p[0].DType()), fmt.Sprint(p[1].Shape(), p[1].DType()); a != b {
		t.Fatalf("%s: %s on the processor, %s on the device", what, a, b)
	}
	if tolerance == 0 && bytes.Equal(hostBytes(t, p[0]), hostBytes(t, p[1])) {
		return
	}
	if p[0].DType() != kernels.F64 {
		p = p.each(t, func(a *kernels.Array) (*kernels.Array, error) { return a.Cast(kernels.F64) })
	}
	x, y := hostBytes(t, p[0]), hostBytes(t, p[1])
	for i := 0; i < len(x); i += 8 {
		a, b := math.Float64frombits(binary.LittleEndian.Uint64(x[i:])), math.Float64frombits(binary.LittleEndian.Uint64(y[i:]))
		equal := a == b || math.IsNaN(a) && math.IsNaN(b)
		if !equal && !(math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b), 1e-2)) {
			t.Fatalf("%s: element %d is %v on the processor, %v on the device", what, i/8, a, b)
		}
	}
}

func hostBytes(t *testing.T, a *kernels.Array) []byte {
	t.Helper()
	b := make([]byte, max(a.NBytes(), 1))
	strides, size := make([]int, len(a.Shape())), a.DType().Size()
	for d := len(strides) - 1; d >= 0; d-- {
		strides[d] = size
		size *= a.Shape()[d]
	}
	fatal(t, a.CopyTo(backend.View{Ptr: unsafe.Pointer(&b[0]), DType: a.DType(), Shape: a.Shape(), Strides: strides}))
	return b[:a.NBytes()]
}

func bothDevices(t *testing.T) [2]*kernels.Device {
	t.Helper()
	gpu, err := kernels.Open("cuda:0")
	fatal(t, err)
	return [2]*kernels.Device{kernels.CPU(), gpu}
}

func TestDeviceEqualsProcessor(t *testing.T) {
	devices := bothDevices(t)
	for _, dtype := range types {
		t.Run(dtype.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(17, uint64(dtype)))
			for range 15 {
				shape := make([]int, 1+r.IntN(3))
				for i := range shape {
					shape[i] = r.IntN(9)
				}
				x, y := pairOf(t, devices, r, dtype, shape), pairOf(t, devices, r, dtype, shape)
				checkElementwise(t, x, y, dtype.Float())
				checkReductions(t, x, r.IntN(len(shape)))
				for _, to := range types {
					x.each(t, func(a *kernels.Array) (*kernels.Array, error) { return a.Cast(to) }).same(t, "cast to "+to.String(), 0)
				}
			}
		})
	}
}

func checkElementwise(t *testing.T, x, y pair, float bool) {
	t.Helper()
	two := func(what string, f func(a, b *kernels.Array) (*kernels.Array, error)) {
		t.Helper()
		i := -1
		x.each(t, func(a *kernels.Array) (*kernels.Array, error) { i++; return f(a, y[i]) }).same(t, what, 0)
	}
	two("add", kernels.Add)
	two("sub", kernels.Sub)
	two("mul", kernels.Mul)
	two("axpy", func(a, b *kernels.Array) (*kernels.Array, error) { return kernels.Axpy(3, a, b) })
	chain, err := kernels.Fuse(kernels.Step{Op: kernels.OpScale, S: 2}, kernels.Step{Op: kernels.OpAddS, S: 1},
		kernels.Step{Op: kernels.OpMul, In: 1}, kernels.Step{Op: kernels.OpClip, S: 1, T: 90}, kernels.Step{Op: kernels.OpRelu})
	fatal(t, err)
	two("a fused chain", func(a, b *kernels.Array) (*kernels.Array, error) { return chain.Apply(a, b) })
	x.each(t, kernels.MulTwo).same(t, "mul_two", 0)
	if float {
		two("div", kernels.Div)
		x.each(t, kernels.Exp).same(t, "exp", 1e-5)
		copies := x.each(t, (*kernels.Array).Copy)
		for _, a := range copies {
			fatal(t, kernels.ReluInPlace(a))
		}
		copies.same(t, "relu in place", 0)
	}
}

func checkReductions(t *testing.T, x pair, axis int) {
	t.Helper()
	x.each(t, kernels.Sum).same(t, "sum", 1e-9)
	x.each(t, kernels.Mean).same(t, "mean", 1e-9)
	along := func(f func(*kernels.Array, int) (*kernels.Array, error)) func(*kernels.Array) (*kernels.Array, error) {
		return func(a *kernels.Array) (*kernels.Array, error) { return f(a, axis) }
	}
	x.each(t, along(kernels.SumAxis)).same(t, "sum of an axis", 1e-9)
	x.each(t, along(kernels.MeanAxis)).same(t, "mean of an axis", 1e-9)
	if x[0].Len() > 0 {
		x.each(t, kernels.Min).same(t, "min", 0)
		x.each(t, along(kernels.MaxAxis)).same(t, "max of an axis", 0)
	}
	if x[0].DType().Float() {
		x.each(t, along(kernels.Softmax)).same(t, "softmax", 1e-2)
	}
}

func TestArraysMoveBetweenDevices(t *testing.T) {
	devices := bothDevices(t)
	r := rand.New(rand.NewPCG(5, 5))
	x := pairOf(t, devices, r, kernels.F32, []int{5, 7})
	i := 1
	x.each(t, func(a *kernels.Array) (*kernels.Array, error) { i = 1 - i; return a.To(devices[1-i]) }).same(t, "to the other device", 0)
	if names := fmt.Sprint(kernels.Devices()); names != "[cpu cuda:0]" {
		t.Error(names)
	}
	if kernels.Default() != devices[1] {
		t.Errorf("the default device is %s", kernels.Default().Name())
	}
	var deviceError *kernels.DeviceError
	if _, err := kernels.Add(x[0], x[1]); !errors.As(err, &deviceError) {
		t.Errorf("adding arrays on two devices: %v", err)
	}
}
