package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Random arrays against the reference, with every instruction set.

// expUlps is how far exp may be from the exact result, in units in the last place.
const expUlps = 2

func TestElementwise_RandomChains_EqualReference(t *testing.T) {
	eachSet(t, func(t *testing.T, r *rand.Rand) {
		for range 200 {
			dt := allTypes[r.IntN(len(allTypes))]
			shape := randomShape(r)
			inputs := 1 + r.IntN(3)
			var in []*Array
			for range inputs {
				own := slices.Clone(shape)
				for d := range own {
					if r.IntN(6) == 0 {
						own[d] = 1
					}
				}
				in = append(in, random(t, r, dt, own[r.IntN(len(own)+1)*r.IntN(2):]))
			}
			p, within := randomProgram(r, dt, inputs)
			full := shape[:0:0]
			for _, a := range in {
				full = must(broadcast("test", full, a.Shape()))(t)
			}
			var plains []plain
			for _, a := range in {
				plains = append(plains, look(a).spread(full))
			}
			want := chain(p, plains)
			var out *Array
			if r.IntN(2) == 0 {
				for i, a := range in { // in place, where an input has the result's shape
					if slices.Equal(a.Shape(), full) {
						out = in[i]
					}
				}
			}
			if out == nil && r.IntN(2) == 0 {
				out = random(t, r, dt, full)
			}
			f := must(Fuse(p...))(t)
			got := must(f.run("test", out, in[:f.Inputs()]))(t)
			same(t, fmt.Sprint(p), got, want, within)
			for _, a := range append(in, got) {
				_ = a.Free()
			}
		}
	})
}

func randomProgram(r *rand.Rand, dt DType, inputs int) (Program, float64) {
	scalar := func() float64 {
		if dt.Float() {
			return float64(r.IntN(40)-20) / 4
		}
		return float64(r.IntN(7))
	}
	p := Program{}
	for i := 1; i < inputs; i++ {
		ops := []Op{OpAdd, OpSub, OpRSub, OpMul, OpAxpy, OpDiv}
		op := ops[r.IntN(len(ops))]
		if op == OpDiv && !dt.Float() {
			op = OpAdd
		}
		p = append(p, Step{Op: op, In: i})
	}
	for range r.IntN(4) {
		ops := []Op{OpScale, OpAddS, OpClip, OpRelu}
		p = append(p, Step{Op: ops[r.IntN(len(ops))]})
	}
	r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
	within := 0.
	if dt.Float() && r.IntN(4) == 0 || len(p) == 0 {
		p = append(p, Step{Op: OpRelu})
		if dt.Float() {
			p[len(p)-1].Op, within = OpExp, expUlps
		}
	}
	for i := range p {
		switch p[i].Op {
		case OpScale, OpAddS, OpAxpy:
			p[i].S = scalar()
		case OpClip:
			p[i].S = scalar()
			p[i].T = p[i].S + 3
		}
	}
	return p, within
}

func TestCast_AllPairs_EqualReference(t *testing.T) {
	eachSet(t, func(t *testing.T, r *rand.Rand) {
		for _, from := range allTypes {
			for _, to := range allTypes {
				a := random(t, r, from, []int{7, 300})
				want := plain{to, a.Shape(), nil}
				for _, x := range look(a).e {
					want.e = append(want.e, castReference(from, to, x))
				}
				same(t, fmt.Sprintf("%v to %v", from, to), must(a.Cast(to))(t), want, 0)
			}
		}
	})
}

func castReference(from, to DType, x num) num {
	switch {
	case from.Float() && to.Float():
		return num{f: round(to, x.f)}
	case from.Float():
		return num{i: exact(x.f, to)}
	case to == F32:
		return num{f: float64(float32(x.i))}
	case to == F64:
		return num{f: float64(x.i)}
	case to.Float(): // by way of float32, as numpy
		return num{f: round(to, float64(float32(x.i)))}
	}
	return num{i: wrap(to, x.i)}
}

func TestHalf_EveryNumber_ThereAndBack(t *testing.T) {
	eachSet(t, func(t *testing.T, _ *rand.Rand) {
		for _, dt := range []DType{F16, BF16} {
			all := make([]uint16, 1<<16)
			for i := range all {
				all[i] = uint16(i)
			}
			a := halves(t, dt, all)
			wide := must(a.Cast(F32))(t)
			want := look(a)
			for k, x := range must(ToSlice[float32](wide))(t) {
				if ulps(F32, float64(x), want.e[k].f) != 0 {
					t.Fatalf("%v %#x: got %v, want %v", dt, k, x, want.e[k].f)
				}
			}
			same(t, "back", must(wide.Cast(dt))(t), want, 0)
		}
	})
}

func TestReduce_RandomArrays_EqualReference(t *testing.T) {
	eachSet(t, func(t *testing.T, r *rand.Rand) {
		for range 300 {
			dt := allTypes[r.IntN(len(allTypes))]
			a := random(t, r, dt, randomShape(r))
			x := look(a)
			lines := plain{dt, []int{1, len(x.e)}, x.e}
			axis := -1
			shape := []int{}
			if len(x.shape) > 0 && r.IntN(3) > 0 {
				axis = r.IntN(len(x.shape))
				lines = x
				shape = slices.Delete(slices.Clone(x.shape), axis, axis+1)
			}
			for _, op := range []string{"sum", "min", "max", "mean"} {
				all := map[string]func(*Array) (*Array, error){"sum": Sum, "min": Min, "max": Max, "mean": Mean}[op]
				one := map[string]func(*Array, int) (*Array, error){"sum": SumAxis, "min": MinAxis, "max": MaxAxis, "mean": MeanAxis}[op]
				var got *Array
				var err error
				at := axis
				if axis < 0 {
					got, err = all(a)
					at = 1
				} else {
					got, err = one(a, axis-len(x.shape)*r.IntN(2))
				}
				if lines.shape[at] == 0 && count(shape) > 0 && (op == "min" || op == "max") {
					if err == nil {
						t.Fatalf("%s of shape %v: no error", op, x.shape)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				to := got.DType()
				want := plain{to, shape, make([]num, count(shape))}
				k := 0
				eachLine(lines, at, func(line []num) {
					want.e[k] = fold(op, dt, to, line)
					k++
				})
				within := 0.
				if dt.Float() && (op == "sum" || op == "mean") {
					within = 1
					if dt == F64 {
						within = math.Inf(1) // below, by the size of what is added
						near(t, op, got, want, lines, at)
					}
				}
				same(t, fmt.Sprintf("%s of %v along %d", op, x.shape, axis), got, want, within)
				_ = got.Free()
			}
			_ = a.Free()
		}
	})
}

// eachLine calls f with the elements of each line of an axis.
func eachLine(r plain, axis int, f func([]num)) {
	inner, n := count(r.shape[axis+1:]), r.shape[axis]
	for o := range count(r.shape[:axis]) {
		for i := range inner {
			line := make([]num, n)
			for k := range n {
				line[k] = r.e[(o*n+k)*inner+i]
			}
			f(line)
		}
	}
}

// near compares sums in F64 by what rounding of the summands can do.
func near(t *testing.T, op string, got *Array, want, lines plain, axis int) {
	t.Helper()
	g, k := look(got), 0
	eachLine(lines, axis, func(line []num) {
		size := 0.
		for _, x := range line {
			size += math.Abs(x.f)
		}
		if d := math.Abs(g.e[k].f - want.e[k].f); d > size*1e-14 {
			t.Fatalf("%s: element %d: got %v, want %v", op, k, g.e[k].f, want.e[k].f)
		}
		k++
	})
}

func fold(op string, from, to DType, line []num) num {
	var r num
	switch op {
	case "min", "max":
		r = line[0]
		for _, x := range line[1:] {
			switch {
			case math.IsNaN(r.f):
			case math.IsNaN(x.f), op == "min" && (x.f < r.f || x.i < r.i), op == "max" && (x.f > r.f || x.i > r.i):
				r = x
			}
		}
		return r
	}
	for _, x := range line {
		r.f += x.f
		r.i += x.i
	}
	if op == "mean" {
		if !from.Float() {
			r.f = float64(r.i)
		}
		r.f /= float64(len(line))
	}
	if to.Float() {
		r.f = round(to, r.f)
	}
	return r
}

func TestDot_RandomArrays_EqualReference(t *testing.T) {
	eachSet(t, func(t *testing.T, r *rand.Rand) {
		for range 100 {
			dt := allTypes[r.IntN(len(allTypes))]
			n := r.IntN(3000) * r.IntN(4)
			a, b := random(t, r, dt, []int{n}), random(t, r, dt, []int{n})
			x, y := look(a), look(b)
			var want num
			size := 0.
			for k := range n {
				want.f += x.e[k].f * y.e[k].f
				size += math.Abs(x.e[k].f * y.e[k].f)
				want.i += x.e[k].i * y.e[k].i
			}
			got := must(Dot(a, b))(t)
			if dt.Float() {
				if d := math.Abs(look(got).e[0].f - round(dt, want.f)); d > size*1e-14 && ulps(dt, look(got).e[0].f, round(dt, want.f)) > 1 {
					t.Fatalf("dot of %d %v: got %v, want %v", n, dt, look(got).e[0].f, want.f)
				}
			} else if got := look(got).e[0].i; got != wrap(dt, want.i) {
				t.Fatalf("dot of %d %v: got %v, want %v", n, dt, got, wrap(dt, want.i))
			}
		}
	})
}

func TestMatMul_RandomArrays_EqualReference(t *testing.T) {
	eachSet(t, func(t *testing.T, r *rand.Rand) {
		for range 25 {
			dt := floatTypes[r.IntN(len(floatTypes))]
			m, n, k := r.IntN(50), r.IntN(50), r.IntN(9)*r.IntN(40)
			a, b := random(t, r, dt, []int{m, k}), random(t, r, dt, []int{k, n})
			x, y := look(a), look(b)
			got := look(must(MatMul(a, b))(t))
			for i := range m {
				for j := range n {
					want, size := 0., 0.
					for l := range k {
						p := x.e[i*k+l].f * y.e[l*n+j].f
						want += p
						size += math.Abs(p)
					}
					g, eps := got.e[i*n+j].f, map[DType]float64{F16: 0x1p-10, BF16: 0x1p-7, F32: 0x1p-20, F64: 0x1p-49}[dt]
					if math.IsNaN(size) || size > math.MaxFloat32/2 || size > 60000 && dt == F16 {
						if math.IsNaN(size) && !math.IsNaN(g) {
							t.Fatalf("%v (%d, %d) times (%d, %d): element %d, %d: got %v, want NaN", dt, m, k, k, n, i, j, g)
						}
						continue // where it overflows depends on the order of the additions
					}
					if !(math.Abs(g-want) <= size*eps+1e-7) {
						t.Fatalf("%v (%d, %d) times (%d, %d): element %d, %d: got %v, want %v", dt, m, k, k, n, i, j, g, want)
					}
				}
			}
		}
	})
}

func TestMatMul_BlocksOfEverySize_EqualReference(t *testing.T) {
	eachSet(t, func(t *testing.T, r *rand.Rand) {
		for _, mnk := range [][3]int{{300, 40, 700}, {13, 3200, 5}, {1, 1, 1000}, {257, 129, 321}} {
			m, n, k := mnk[0], mnk[1], mnk[2]
			x, y := make([]float64, m*k), make([]float64, k*n)
			for i := range x {
				x[i] = float64(r.IntN(9) - 4)
			}
			for i := range y {
				y[i] = float64(r.IntN(9) - 4)
			}
			got := must(ToSlice[float64](must(MatMul(must(FromSlice(CPU(), x, m, k))(t), must(FromSlice(CPU(), y, k, n))(t)))(t)))(t)
			for i := range m {
				for j := range n {
					want := 0.
					for l := range k {
						want += x[i*k+l] * y[l*n+j]
					}
					if got[i*n+j] != want {
						t.Fatalf("%v: element %d, %d: got %v, want %v", mnk, i, j, got[i*n+j], want)
					}
				}
			}
		}
	})
}

func TestSoftmax_RandomArrays_EqualReference(t *testing.T) {
	eachSet(t, func(t *testing.T, r *rand.Rand) {
		for range 150 {
			dt := floatTypes[r.IntN(len(floatTypes))]
			shape := randomShape(r)
			if len(shape) == 0 {
				shape = []int{1500}
			}
			a := random(t, r, dt, shape)
			axis := r.IntN(len(shape))
			want := look(a).along(axis, func(line []num) []num {
				best, sum := math.Inf(-1), 0.
				for _, x := range line {
					best = max(best, x.f) // NaN wins
				}
				for i := range line {
					line[i].f = math.Exp(round(width(dt), line[i].f-best))
					sum += line[i].f
				}
				for i := range line {
					line[i].f = round(dt, line[i].f/sum)
				}
				return line
			})
			same(t, fmt.Sprintf("softmax of %v along %d", shape, axis), must(Softmax(a, axis))(t), want, 8)
		}
	})
}

func TestExp_WholeRange_WithinUlps(t *testing.T) {
	eachSet(t, func(t *testing.T, r *rand.Rand) {
		worst := map[DType]float64{}
		for _, dt := range []DType{F32, F64} {
			x := make([]float64, 1500)
			for i := range x {
				x[i] = map[DType]float64{F32: -106 + 196*r.Float64(), F64: -750 + 1465*r.Float64()}[dt]
				if i%2 == 0 {
					x[i] = r.NormFloat64()
				}
			}
			a := must(must(FromSlice(CPU(), x))(t).Cast(dt))(t)
			in, out := look(a), look(must(Exp(a))(t))
			for k := range x {
				u := ulps(dt, out.e[k].f, round(dt, exp(in.e[k].f)))
				if worst[dt] = max(worst[dt], u); u > expUlps {
					t.Fatalf("exp(%v) in %v: got %v, %v units from the result", in.e[k].f, dt, out.e[k].f, u)
				}
			}
		}
		t.Logf("worst: %v", worst)
	})
}
