//go:build cuda && cgo

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/eagleray/eagleray/kernels/backend"
)

func TestDotAgainstReference(t *testing.T) {
	d := device(t)
	for _, dtype := range allTypes {
		r := rand.New(rand.NewPCG(9, uint64(dtype)))
		for _, n := range []int{0, 1, 7, 256, 5000} {
			a := newArray(t, d, r, strided, dtype, []int{n}, plain)
			b := newArray(t, d, r, strided, dtype, []int{n}, plain)
			out := newArray(t, d, r, packed, dtype, nil, plain)
			must(t, d.Dot(nil, out.View, a.View, b.View))
			var want value
			for i := range n {
				x, y := a.get(i), b.get(i)
				want = value{want.f + x.f*y.f, want.i + x.i*y.i}
			}
			want = rounded(dtype, want)
			if got := out.fetch(t, d).get(0); !nearAs(dtype, got, want) {
				t.Fatalf("%v of %d: %v, want %v", dtype, n, got, want)
			}
		}
	}
}

// Half of a last place of the outcome, and of what products are added up in.
var (
	half        = map[backend.DType]float64{backend.F16: 5e-4, backend.BF16: 4e-3, backend.F32: 6e-8, backend.F64: 1.2e-16}
	accumulated = map[backend.DType]float64{backend.F16: 6e-8, backend.BF16: 6e-8, backend.F32: 6e-8, backend.F64: 1.2e-16}
)

func TestMatMulAgainstReference(t *testing.T) {
	d := device(t)
	for _, dtype := range floatTypes {
		t.Run(dtype.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, uint64(dtype)))
			shapes := [][3]int{{1, 1, 1}, {3, 4, 5}, {16, 64, 16}, {65, 3, 70}, {1, 90, 1}, {7, 1, 130}, {0, 3, 4}, {3, 0, 4}, {3, 4, 0}}
			for _, l := range []layout{packed, strided, broadcast} {
				for _, s := range shapes {
					m, k, n := s[0], s[1], s[2]
					a := newArray(t, d, r, l, dtype, []int{m, k}, plain)
					b := newArray(t, d, r, l, dtype, []int{k, n}, plain)
					out := newArray(t, d, r, min(l, strided), dtype, []int{m, n}, plain)
					must(t, d.MatMul(nil, out.View, a.View, b.View))
					got := out.fetch(t, d)
					for i := range m * n {
						var sum, size float64
						for j := range k {
							p := a.get(i/n*k+j).f * b.get(j*n+i%n).f
							sum, size = sum+p, size+math.Abs(p)
						}
						want, g := rounded(dtype, value{f: sum}), got.get(i)
						if !equal(want, g) && !(math.Abs(want.f-g.f) <= size*(half[dtype]+float64(k)*accumulated[dtype])) {
							t.Fatalf("%dx%dx%d: element %d is %v, want %v", m, k, n, i, g.f, want.f)
						}
						copy(out.element(i), got.element(i))
					}
					compare(t, out, got, true)
				}
			}
		})
	}
}

func TestMatMulTakesCuBLASWhereItCan(t *testing.T) {
	d := device(t)
	r := rand.New(rand.NewPCG(1, 2))
	a := newArray(t, d, r, packed, backend.F32, []int{3, 4}, plain)
	transposed := a.View
	transposed.Shape, transposed.Strides = []int{4, 3}, []int{a.Strides[1], a.Strides[0]}
	gaps := a.View
	gaps.Shape, gaps.Strides = []int{3, 2}, []int{a.Strides[0], 2 * a.Strides[1]}
	out := newArray(t, d, r, packed, backend.F32, []int{3, 3}, plain)
	multiplied := func(left, right backend.View) bool {
		done, err := d.gemm(nil, out.View, left, right)
		must(t, err)
		return done
	}
	if !multiplied(a.View, transposed) {
		t.Error("cuBLAS was not asked for contiguous matrices")
	}
	right := newArray(t, d, r, packed, backend.F32, []int{2, 3}, plain)
	if multiplied(gaps, right.View) {
		t.Error("cuBLAS was asked for a matrix with gaps in both directions")
	}
}

func TestSoftmaxAgainstReference(t *testing.T) {
	d := device(t)
	for _, dtype := range floatTypes {
		t.Run(dtype.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(13, uint64(dtype)))
			for trial := range 30 {
				shape := randomShape(r, 1+r.IntN(4))
				if trial == 0 {
					shape = []int{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 5}
				}
				axis := r.IntN(len(shape))
				fill := plain
				if trial%5 == 0 {
					fill = random
				}
				in := newArray(t, d, r, layout(r.IntN(3)), dtype, shape, fill)
				out := newArray(t, d, r, layout(r.IntN(2)), dtype, shape, plain)
				must(t, d.Softmax(nil, out.View, in.View, axis))
				got := out.fetch(t, d)
				cols, after := shape[axis], elements(shape[axis+1:])
				rows := map[int][]float64{}
				for i := range out.len() {
					first := i/(cols*after)*cols*after + i%after
					if rows[first] == nil {
						rows[first] = softmaxOf(in, first, after, cols)
					}
					want := rows[first][i/after%cols]
					// What is left of the range of f16 has few bits: compare with the largest.
					if g := got.get(i); !near(g, value{f: want}, 1e-2) && !(math.Abs(g.f-want) < 1e-3) {
						t.Fatalf("%v axis %d: element %d is %v, want %v", shape, axis, i, g.f, want)
					}
					copy(out.element(i), got.element(i))
				}
				compare(t, out, got, true)
			}
		})
	}
}

func softmaxOf(in *array, first, step, cols int) []float64 {
	row, largest, sum := make([]float64, cols), math.Inf(-1), 0.0
	for c := range row {
		row[c] = in.get(first + c*step).f
		largest = max(largest, row[c])
	}
	for c, x := range row {
		row[c] = math.Exp(x - largest)
		sum += row[c]
	}
	for c := range row {
		row[c] /= sum
	}
	return row
}

func TestSoftmaxInPlace(t *testing.T) {
	d := device(t)
	r := rand.New(rand.NewPCG(1, 1))
	a := newArray(t, d, r, packed, backend.F32, []int{4, 600}, func(*rand.Rand, backend.DType) value { return value{f: 3} })
	must(t, d.Softmax(nil, a.View, a.View, 1))
	got := a.fetch(t, d)
	for i := range got.len() {
		if g := got.get(i).f; fmt.Sprintf("%.6f", g) != fmt.Sprintf("%.6f", 1.0/600) {
			t.Fatalf("element %d is %v", i, g)
		}
	}
}
