//go:build cuda && cgo

package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/eagleray/eagleray/kernels/backend"
)

var reductions = map[backend.ReduceOp]string{backend.Sum: "sum", backend.Min: "min", backend.Max: "max", backend.Mean: "mean"}

// outcome is the type that kernels has a reduction give.
func outcome(op backend.ReduceOp, t backend.DType) backend.DType {
	switch {
	case t.Float() || op == backend.Min || op == backend.Max:
		return t
	case op == backend.Mean:
		return backend.F64
	}
	return backend.I64
}

func reduced(op backend.ReduceOp, t backend.DType, x []value) value {
	var v value
	if op == backend.Min || op == backend.Max {
		v = x[0]
	}
	for _, e := range x {
		switch op {
		case backend.Min:
			v = value{min(v.f, e.f), min(v.i, e.i)} // Go's min and max have NaN win
		case backend.Max:
			v = value{max(v.f, e.f), max(v.i, e.i)}
		case backend.Sum:
			v = value{v.f + e.f, v.i + e.i}
		case backend.Mean:
			v.f += e.f + float64(e.i)
		}
	}
	if op == backend.Mean {
		v.f /= float64(len(x))
	}
	if to := outcome(op, t); to.Float() {
		v.i = 0
	}
	return rounded(outcome(op, t), v)
}

func TestReduceAgainstReference(t *testing.T) {
	d := device(t)
	for _, dtype := range allTypes {
		for op, name := range reductions {
			t.Run(fmt.Sprintf("%s of %v", name, dtype), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(dtype), uint64(op)))
				for trial := range 8 {
					shape := randomShape(r, 1+r.IntN(4))
					switch trial {
					case 0:
						shape = []int{3, 9000} // several blocks for each output
					case 1:
						shape = []int{60, 1000} // many outputs of few elements
					}
					axis := r.IntN(len(shape)+1) - 1
					if trial < 2 {
						axis = 1 - trial
					}
					checkReduction(t, d, r, op, dtype, shape, axis)
				}
			})
		}
	}
}

func checkReduction(t *testing.T, d *Device, r *rand.Rand, op backend.ReduceOp, dtype backend.DType, shape []int, axis int) {
	t.Helper()
	in := newArray(t, d, r, layout(r.IntN(3)), dtype, shape, plain)
	outShape := []int{}
	groups, each := 1, in.len()
	if axis >= 0 {
		outShape = without(shape, axis)
		groups, each = elements(outShape), shape[axis]
	}
	if each == 0 && (op == backend.Min || op == backend.Max) {
		return // kernels refuses it
	}
	out := newArray(t, d, r, layout(r.IntN(2)), outcome(op, dtype), outShape, plain)
	must(t, d.Reduce(nil, op, out.View, in.View, axis))
	got := out.fetch(t, d)
	after := 1 // elements of the dimensions behind the axis
	if axis >= 0 {
		after = elements(shape[axis+1:])
	}
	for g := range groups {
		x := make([]value, each)
		for i := range x {
			at := i
			if axis >= 0 {
				at = g/after*each*after + i*after + g%after
			}
			x[i] = in.get(at)
		}
		want := reduced(op, dtype, x)
		if !near(got.get(g), want, map[backend.DType]float64{backend.F16: 1e-3, backend.BF16: 8e-3, backend.F32: 1e-6}[out.DType]+1e-11) {
			t.Fatalf("%v axis %d: output %d is %v, want %v", shape, axis, g, got.get(g), want)
		}
		copy(out.element(g), got.element(g))
	}
	compare(t, out, got, true)
}

func TestReduceOfManyDimensions(t *testing.T) {
	d := device(t)
	r := rand.New(rand.NewPCG(7, 7))
	shape := []int{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3}
	for _, axis := range []int{-1, 0, 5, 11} {
		checkReduction(t, d, r, backend.Sum, backend.F32, shape, axis)
	}
}

func TestSumIsAccumulatedInDoublePrecision(t *testing.T) {
	d := device(t)
	const n = 1 << 20
	x := make([]float32, n)
	for i := range x {
		x[i] = 0.1
	}
	in, out := view(t, d, backend.F32, n), view(t, d, backend.F32)
	must(t, d.Upload(nil, in, host(backend.F32, x, n)))
	must(t, d.Reduce(nil, backend.Sum, out, in, -1))
	got := make([]float32, 1)
	must(t, d.Download(nil, host(backend.F32, got), out))
	if want := float32(float64(float32(0.1)) * n); got[0] != want {
		t.Fatalf("the sum is %v, want %v", got[0], want)
	}
}
