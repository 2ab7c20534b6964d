package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/cpu"
)

// The reference: elements one by one, in plain Go.

var allTypes = []DType{F16, BF16, F32, F64, I32, I64, U8}
var floatTypes = []DType{F16, BF16, F32, F64}

// num is an element: f of floating point, i of integers.
type num struct {
	f float64
	i int64
}

// plain is an array in C order.
type plain struct {
	t     DType
	shape []int
	e     []num
}

// round rounds to a floating-point type, ties to even.
func round(t DType, f float64) float64 {
	bits, least := 24, -149 // the significand's, and the exponent of the least number
	switch t {
	case F64:
		return f
	case F16:
		bits, least = 11, -24
	case BF16:
		bits, least = 8, -133
	}
	if f == 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return f
	}
	_, exp := math.Frexp(f)
	unit := max(exp-bits, least)
	r := math.Ldexp(math.RoundToEven(math.Ldexp(f, -unit)), unit)
	limit := map[DType]float64{F16: 65504, BF16: 0x1.fep127, F32: math.MaxFloat32}[t]
	if math.Abs(r) > limit {
		return math.Copysign(math.Inf(1), f)
	}
	return math.Copysign(r, f)
}

func wrap(t DType, i int64) int64 {
	switch t {
	case I32:
		return int64(int32(i))
	case U8:
		return int64(uint8(i))
	}
	return i
}

// width is the type that a chain of t is computed in.
func width(t DType) DType {
	if t == F16 || t == BF16 {
		return F32
	}
	return t
}

func decode(t DType, p unsafe.Pointer) num {
	small := func(exponent, bias int, h uint16) num {
		fraction := 15 - exponent
		e, m := int(h>>fraction)&(1<<exponent-1), float64(h&(1<<fraction-1))
		f := math.Ldexp(m, 1-bias-fraction)
		switch {
		case e == 1<<exponent-1 && m != 0:
			f = math.NaN()
		case e == 1<<exponent-1:
			f = math.Inf(1)
		case e > 0:
			f = math.Ldexp(m+float64(int(1)<<fraction), e-bias-fraction)
		}
		if h>>15 != 0 {
			f = math.Copysign(f, -1)
		}
		return num{f: f}
	}
	switch t {
	case F16:
		return small(5, 15, *(*uint16)(p))
	case BF16:
		return small(8, 127, *(*uint16)(p))
	case F32:
		return num{f: float64(*(*float32)(p))}
	case F64:
		return num{f: *(*float64)(p)}
	case I32:
		return num{i: int64(*(*int32)(p))}
	case I64:
		return num{i: *(*int64)(p)}
	}
	return num{i: int64(*(*uint8)(p))}
}

// look reads an array of the cpu element by element.
func look(a *Array) plain {
	r := plain{a.DType(), a.Shape(), make([]num, 0, a.Len())}
	index := make([]int, len(r.shape))
	for range a.Len() {
		p := a.view.Ptr
		for d, i := range index {
			p = unsafe.Add(p, i*a.view.Strides[d])
		}
		r.e = append(r.e, decode(r.t, p))
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < r.shape[d] {
				break
			}
			index[d] = 0
		}
	}
	return r
}

// spread repeats elements to a shape.
func (r plain) spread(shape []int) plain {
	out := plain{r.t, shape, nil}
	for k := range count(shape) {
		at, step, rest := 0, 1, k
		for d := len(shape) - 1; d >= 0; d-- {
			i := rest % shape[d]
			rest /= shape[d]
			if e := d - (len(shape) - len(r.shape)); e >= 0 {
				if r.shape[e] != 1 {
					at += i * step
				}
				step *= r.shape[e]
			}
		}
		out.e = append(out.e, r.e[at])
	}
	return out
}

// along calls f with the elements of each line of an axis.
func (r plain) along(axis int, f func(line []num) []num) plain {
	out := plain{r.t, r.shape, make([]num, len(r.e))}
	inner := count(r.shape[axis+1:])
	n := r.shape[axis]
	for o := range count(r.shape[:axis]) {
		for i := range inner {
			line := make([]num, n)
			for k := range n {
				line[k] = r.e[(o*n+k)*inner+i]
			}
			for k, x := range f(line) {
				out.e[(o*n+k)*inner+i] = x
			}
		}
	}
	return out
}

func (s refStep) apply(t DType, x, y num) num {
	if !t.Float() {
		c := int64(s.S)
		switch s.Op {
		case OpScale:
			x.i *= c
		case OpAddS:
			x.i += c
		case OpAdd:
			x.i += y.i
		case OpSub:
			x.i -= y.i
		case OpRSub:
			x.i = y.i - x.i
		case OpMul:
			x.i *= y.i
		case OpAxpy:
			x.i = c*x.i + y.i
		case OpClip:
			x.i = min(max(x.i, int64(s.S)), int64(s.T))
		case OpRelu:
			x.i = max(x.i, 0)
		}
		return num{i: wrap(t, x.i)}
	}
	c, f := round(t, s.S), x.f
	switch s.Op {
	case OpScale:
		f *= c
	case OpAddS:
		f += c
	case OpAdd:
		f += y.f
	case OpSub:
		f -= y.f
	case OpRSub:
		f = y.f - f
	case OpMul:
		f *= y.f
	case OpDiv:
		f /= y.f
	case OpAxpy:
		f = round(t, c*f)
		f += y.f
	case OpClip:
		if !math.IsNaN(f) {
			f = min(max(f, c), round(t, s.T))
		}
	case OpExp:
		if t == F64 {
			f = exp(f)
		} else {
			f = math.Exp(f)
		}
	case OpRelu:
		if !math.IsNaN(f) {
			f = max(f, 0)
		}
	}
	return num{f: round(t, f)}
}

type refStep Step

// chain runs a program over arrays of one shape.
func chain(p Program, in []plain) plain {
	out := plain{in[0].t, in[0].shape, nil}
	for k, x := range in[0].e {
		for _, s := range p {
			x = refStep(s).apply(width(out.t), x, in[s.In].e[k])
		}
		if out.t.Float() {
			x.f = round(out.t, x.f)
		}
		out.e = append(out.e, x)
	}
	return out
}

// ulps is the distance in units in the last place of a type.
func ulps(t DType, a, b float64) float64 {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return 0
	}
	if math.IsNaN(a) || math.IsNaN(b) || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return math.Inf(1)
	}
	bits, least := map[DType]int{F16: 11, BF16: 8, F32: 24, F64: 53}[t], map[DType]int{F16: -24, BF16: -133, F32: -149, F64: -1074}[t]
	_, exp := math.Frexp(b)
	return math.Abs(a-b) / math.Ldexp(1, max(exp-bits, least))
}

// same fails the test unless got equals want within units in the last place.
func same(t *testing.T, what string, got *Array, want plain, within float64) {
	t.Helper()
	g := look(got)
	if g.t != want.t || fmt.Sprint(g.shape) != fmt.Sprint(want.shape) {
		t.Fatalf("%s: got %v%v, want %v%v", what, g.t, g.shape, want.t, want.shape)
	}
	for k, w := range want.e {
		if g.t.Float() && ulps(g.t, g.e[k].f, w.f) > within || !g.t.Float() && g.e[k].i != w.i {
			t.Fatalf("%s: %v%v, element %d: got %v, want %v", what, g.t, g.shape, k, g.e[k], w)
		}
	}
}

var special = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 1, -1, 1e-45, 6e-8, 65504, 65520, 1e-300, 1e300, 0.1, 88.5, -103}

// randomNumber is an element for a type, sometimes an odd one.
func randomNumber(r *rand.Rand, t DType) float64 {
	switch {
	case t == U8:
		return float64(r.IntN(256))
	case !t.Float() && r.IntN(4) == 0:
		return float64(r.Int32()) - (1 << 30)
	case !t.Float():
		return float64(r.IntN(200) - 100)
	case r.IntN(12) == 0:
		return special[r.IntN(len(special))]
	}
	return r.NormFloat64() * 10
}

// random makes an array whose elements lie in memory in some way.
func random(t *testing.T, r *rand.Rand, dt DType, shape []int) *Array {
	t.Helper()
	n := len(shape)
	order := r.Perm(n)
	// A larger array with its axes in another order, steps and gaps.
	big := make([]int, n)
	steps, before := make([]int, n), make([]int, n)
	for i, axis := range order {
		steps[i] = []int{1, 1, 1, 2, 3, -1, -2}[r.IntN(7)]
		before[i] = r.IntN(3) * r.IntN(2)
		size := 0
		if shape[axis] > 0 {
			size = (shape[axis]-1)*max(steps[i], -steps[i]) + 1
		}
		big[i] = before[i] + size + r.IntN(2)
	}
	values := make([]float64, count(big))
	for i := range values {
		values[i] = randomNumber(r, dt)
	}
	wide := must(FromSlice(CPU(), values))(t)
	wide = swap(t, wide, must(wide.Reshape(big...))(t))
	defer wide.Free()
	a := must(wide.Cast(dt))(t)
	for i, axis := range order {
		size := shape[axis]
		start, stop := before[i], End
		if size > 0 {
			stop = before[i] + (size-1)*max(steps[i], -steps[i]) + 1
		} else {
			stop = start
		}
		if steps[i] < 0 && size > 0 {
			start, stop = stop-1, start-1
			if stop < 0 {
				stop = Begin
			}
		}
		a = swap(t, a, must(a.Slice(i, start, stop, steps[i]))(t))
	}
	inverse := make([]int, n)
	for i, axis := range order {
		inverse[axis] = i
	}
	if n > 0 {
		a = swap(t, a, must(a.Transpose(inverse...))(t))
	}
	if fmt.Sprint(a.Shape()) != fmt.Sprint(shape) {
		t.Fatalf("random array has shape %v, want %v", a.Shape(), shape)
	}
	return a
}

func swap(t *testing.T, old, new *Array) *Array {
	t.Helper()
	if err := old.Free(); err != nil {
		t.Fatal(err)
	}
	return new
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func randomShape(r *rand.Rand) []int {
	shape := make([]int, r.IntN(4))
	for i := range shape {
		switch r.IntN(10) {
		case 0:
			shape[i] = r.IntN(2)
		case 1:
			if i == 0 {
				shape[i] = 30
			}
			shape[i] += 1 + r.IntN(20)
		default:
			shape[i] = 1 + r.IntN(9)
		}
	}
	if r.IntN(8) == 0 {
		return []int{1000 + r.IntN(4000)}
	}
	return shape
}

// eachSet runs a test with every instruction set that the processor has.
func eachSet(t *testing.T, test func(t *testing.T, r *rand.Rand)) {
	sets := cpu.Instructions()
	defer cpu.Use(sets[0])
	for i, set := range sets {
		cpu.Use(set)
		t.Run(set, func(t *testing.T) { test(t, rand.New(rand.NewPCG(1, uint64(i)))) })
	}
}

var ln2, _ = new(big.Float).SetPrec(200).SetString("0.693147180559945309417232121458176568075500134360255254120680009493393621969694716")

// exp is e to the power of x, rounded once: the standard library's is not
// exact enough to compare with.
func exp(x float64) float64 {
	if math.IsNaN(x) || x > 720 || x < -760 {
		return math.Exp(x)
	}
	n := math.Round(x / math.Ln2)
	wide := func(f float64) *big.Float { return new(big.Float).SetPrec(150).SetFloat64(f) }
	r := wide(x)
	r.Sub(r, wide(n).Mul(wide(n), ln2))
	sum, term := wide(1), wide(1)
	for k := 1.; k < 30; k++ {
		term.Mul(term, r)
		term.Quo(term, wide(k))
		sum.Add(sum, term)
	}
	f, _ := sum.SetMantExp(sum, int(n)).Float64()
	return f
}

// exact is x as an integer cut to a type, saturating.
func exact(f float64, t DType) int64 {
	if math.IsNaN(f) {
		return 0
	}
	lo, hi := map[DType]int64{I32: math.MinInt32, I64: math.MinInt64}[t], map[DType]int64{I32: math.MaxInt32, I64: math.MaxInt64, U8: 255}[t]
	if math.IsInf(f, 0) {
		if f > 0 {
			return hi
		}
		return lo
	}
	whole, _ := new(big.Float).SetFloat64(f).Int(nil)
	if whole.Cmp(big.NewInt(lo)) < 0 {
		return lo
	}
	if whole.Cmp(big.NewInt(hi)) > 0 {
		return hi
	}
	return whole.Int64()
}
