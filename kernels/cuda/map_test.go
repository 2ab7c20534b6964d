//go:build cuda && cgo

package cuda

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

func host[T any](t backend.DType, s []T, shape ...int) backend.View {
	return backend.View{Ptr: unsafe.Pointer(unsafe.SliceData(s)), DType: t, Shape: shape, Strides: contiguous(shape, t.Size())}
}

// wanted computes one step in the type's compute type.
func wanted(t backend.DType, s backend.Step, x, y value) value {
	if !t.Float() {
		return rounded(t, value{i: wantedInteger(s, x.i, y.i, t)})
	}
	narrow := func(f float64) float64 { return f }
	if t != backend.F64 {
		narrow = func(f float64) float64 { return float64(float32(f)) } // exact for one operation on float32
	}
	S, T := narrow(s.S), narrow(s.T)
	switch s.Op {
	case backend.Scale:
		return value{f: narrow(x.f * S)}
	case backend.AddS:
		return value{f: narrow(x.f + S)}
	case backend.Add:
		return value{f: narrow(x.f + y.f)}
	case backend.Sub:
		return value{f: narrow(x.f - y.f)}
	case backend.RSub:
		return value{f: narrow(y.f - x.f)}
	case backend.Mul:
		return value{f: narrow(x.f * y.f)}
	case backend.Div:
		return value{f: narrow(x.f / y.f)}
	case backend.Axpy:
		return value{f: narrow(narrow(S*x.f) + y.f)}
	case backend.Clip:
		if math.IsNaN(x.f) {
			return x
		}
		return value{f: math.Min(math.Max(x.f, S), T)}
	case backend.Exp:
		return value{f: narrow(math.Exp(x.f))}
	case backend.Relu:
		if x.f < 0 {
			return value{}
		}
		return x
	}
	panic("unknown step")
}

func wantedInteger(s backend.Step, x, y int64, t backend.DType) int64 {
	S, T := int64(s.S), int64(s.T)
	switch s.Op {
	case backend.Scale:
		return x * S
	case backend.AddS:
		return x + S
	case backend.Add:
		return x + y
	case backend.Sub:
		return x - y
	case backend.RSub:
		return y - x
	case backend.Mul:
		return x * y
	case backend.Axpy:
		return S*x + y
	case backend.Clip:
		return min(max(x, S), T)
	case backend.Relu:
		return max(x, 0)
	}
	panic("unknown step")
}

func randomProgram(r *rand.Rand, t backend.DType, length, inputs int) (p backend.Program, exact bool) {
	exact = true
	for range length {
		ops := []backend.Op{backend.Scale, backend.AddS, backend.Clip, backend.Relu}
		if inputs > 1 {
			ops = append(ops, backend.Add, backend.Sub, backend.RSub, backend.Mul, backend.Axpy)
		}
		if t.Float() {
			ops = append(ops, backend.Exp)
			if inputs > 1 {
				ops = append(ops, backend.Div)
			}
		}
		s := backend.Step{Op: ops[r.IntN(len(ops))], S: float64(r.IntN(5)), T: 7}
		switch s.Op {
		case backend.Add, backend.Sub, backend.RSub, backend.Mul, backend.Div, backend.Axpy:
			s.In = 1 + r.IntN(inputs-1)
		case backend.Exp:
			exact = false
		}
		p = append(p, s)
	}
	return p, exact
}

func TestMapAgainstReference(t *testing.T) {
	d := device(t)
	for _, dtype := range allTypes {
		t.Run(dtype.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(dtype)))
			for trial := range 60 {
				shape := randomShape(r, r.IntN(5))
				steps, inputs := 1, 1+r.IntN(3)
				if trial%3 == 0 {
					steps = r.IntN(6)
				}
				if trial == 59 {
					steps, inputs, shape = 40, 12, []int{3, 50} // more than the launch carries
				}
				p, exact := randomProgram(r, dtype, steps, inputs)
				in := make([]*array, inputs)
				views := make([]backend.View, inputs)
				for i := range in {
					in[i] = newArray(t, d, r, layout(r.IntN(3)), dtype, shape, random)
					views[i] = in[i].View
				}
				out := newArray(t, d, r, layout(r.IntN(2)), dtype, shape, random)
				if inPlace := trial%4 == 0 && in[0].len() > 0; inPlace {
					out = newArray(t, d, r, layout(r.IntN(2)), dtype, shape, random)
					in[0], views[0] = out, out.View
				}
				must(t, d.Map(nil, p, out.View, views...))
				got := out.fetch(t, d)
				for i := range out.len() {
					x := in[0].get(i)
					for _, s := range p {
						var y value
						if s.In > 0 {
							y = in[s.In].get(i)
						}
						x = wanted(dtype, s, x, y)
					}
					out.set(i, x)
				}
				compare(t, out, got, exact)
			}
		})
	}
}

// compare wants the same elements, and the same bytes between them.
func compare(t *testing.T, want, got *array, exact bool) {
	t.Helper()
	for i := range want.len() {
		w, g := want.get(i), got.get(i)
		if exact && !equal(w, g) || !exact && !nearAs(want.DType, w, g) {
			t.Fatalf("%v %v: element %d is %v, want %v", want.DType, want.Shape, i, g, w)
		}
		copy(want.element(i), got.element(i))
	}
	for i := range want.raw {
		if want.raw[i] != got.raw[i] {
			t.Fatalf("%v %v: byte %d beside the elements was written", want.DType, want.Shape, i)
		}
	}
}

// nearAs allows for the last bits of a function such as exp. What is beyond the
// range, or almost, may be either side of it.
func nearAs(t backend.DType, a, b value) bool {
	tolerance := map[backend.DType]float64{backend.F16: 4e-3, backend.BF16: 3e-2, backend.F32: 1e-4, backend.F64: 1e-12}[t]
	return near(a, b, tolerance)
}

func TestMapInputsThatOverlapTheOutput(t *testing.T) {
	d := device(t)
	const n = 5000
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	all := view(t, d, backend.F32, n)
	must(t, d.Upload(nil, all, host(backend.F32, x, n)))
	later := backend.View{Ptr: unsafe.Add(all.Ptr, 4), DType: backend.F32, Shape: []int{n - 1}, Strides: []int{4}}
	before := backend.View{Ptr: all.Ptr, DType: backend.F32, Shape: []int{n - 1}, Strides: []int{4}}
	must(t, d.Map(nil, backend.Program{{Op: backend.Add, In: 1}}, later, later, before))
	must(t, d.Download(nil, host(backend.F32, x, n), all))
	for i := 1; i < n; i++ {
		if x[i] != float32(2*i-1) {
			t.Fatalf("element %d is %v, want %v", i, x[i], 2*i-1)
		}
	}
}
