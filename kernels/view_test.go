package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSlice_EveryRange_AsPython(t *testing.T) {
	a := must(FromSlice(CPU(), []int32{0, 1, 2, 3, 4}))(t)
	for _, c := range []struct {
		start, stop, step int
		want              []int32
	}{
		{0, 5, 1, []int32{0, 1, 2, 3, 4}},
		{1, -1, 1, []int32{1, 2, 3}},
		{-2, End, 1, []int32{3, 4}},
		{0, End, 2, []int32{0, 2, 4}},
		{End, Begin, -1, []int32{4, 3, 2, 1, 0}},
		{3, 0, -2, []int32{3, 1}},
		{-1, -4, -1, []int32{4, 3, 2}},
		{4, 2, 1, []int32{}},
		{7, 9, 1, []int32{}},
		{Begin, End, 4, []int32{0, 4}},
		{-99, 2, 1, []int32{0, 1}},
	} {
		got := must(ToSlice[int32](must(a.Slice(-1, c.start, c.stop, c.step))(t)))(t)
		if !slices.Equal(got, c.want) {
			t.Errorf("[%d:%d:%d] is %v, want %v", c.start, c.stop, c.step, got, c.want)
		}
	}
}

func TestReshape_RandomViews_KeepTheOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	views := 0
	for range 500 {
		a := random(t, r, I64, []int{[]int{1, 2, 4}[r.IntN(3)], 6, []int{1, 3}[r.IntN(2)]})
		shape := [][]int{{-1}, {2, -1}, {-1, 3, 1}, {1, 2, 3, -1}}[r.IntN(4)]
		b, err := a.Reshape(shape...)
		if err != nil {
			b = must(must(a.Copy())(t).Reshape(shape...))(t)
		} else {
			views++
			if lo, hi := span(a.view); uintptr(b.view.Ptr) < lo || uintptr(b.view.Ptr) >= hi {
				t.Fatal("the view is elsewhere")
			}
		}
		if x, y := look(a), look(b); fmt.Sprint(x.e) != fmt.Sprint(y.e) {
			t.Fatalf("reshape %v with strides %v to %v: got %v, want %v", x.shape, a.Strides(), y.shape, y.e, x.e)
		}
	}
	if views < 100 {
		t.Errorf("only %d of 500 were views", views)
	}
}

func TestEmptyArrays_EveryOperation_EmptyOrZero(t *testing.T) {
	none := must(New(CPU(), F32, 3, 0))(t)
	for name, got := range map[string]*Array{
		"copy":      must(none.Copy())(t),
		"cast":      must(none.Cast(F32))(t),
		"exp":       must(Exp(none))(t),
		"add":       must(Add(none, must(New(CPU(), F32, 1))(t)))(t),
		"softmax":   must(Softmax(none, 1))(t),
		"reshape":   must(must(none.Transpose())(t).Reshape(3, 0))(t),
		"to itself": must(none.To(CPU()))(t),
		"slice":     must(FromSlice(CPU(), []float32{}, 3, 0))(t),
	} {
		if !slices.Equal(got.Shape(), []int{3, 0}) || got.Len() != 0 {
			t.Errorf("%s: shape %v, want [3 0]", name, got.Shape())
		}
	}
	if err := MulTwoInPlace(none); err != nil {
		t.Error(err)
	}
	zeros := plain{F32, []int{3}, make([]num, 3)}
	same(t, "sum along an empty axis", must(SumAxis(none, 1))(t), zeros, 0)
	empty := must(none.Transpose())(t)
	same(t, "product over nothing", must(MatMul(none, empty))(t), plain{F32, []int{3, 3}, make([]num, 9)}, 0)
	line := must(New(CPU(), F64, 0))(t)
	same(t, "dot of nothing", must(Dot(line, line))(t), plain{F64, []int{}, make([]num, 1)}, 0)
	if mean := must(Item[float64](must(Mean(line))(t)))(t); mean == mean {
		t.Errorf("the mean of nothing is %v, want NaN", mean)
	}
	if sum := must(Item[float64](must(Sum(line))(t)))(t); sum != 0 {
		t.Errorf("the sum of nothing is %v, want 0", sum)
	}
}

func TestAssign_OverlappingViews_AsThroughATemporary(t *testing.T) {
	eachSet(t, func(t *testing.T, r *rand.Rand) {
		for range 200 {
			n := 2 + r.IntN(3000)
			a := random(t, r, F32, []int{n})
			step := 1 - 2*r.IntN(2)
			k := 1 + r.IntN(n-1)
			to, from := must(a.Slice(0, k, End, 1))(t), must(a.Slice(0, 0, n-k, 1))(t)
			if step < 0 {
				from = must(from.Slice(0, End, Begin, -1))(t)
			}
			want := look(from)
			switch r.IntN(3) {
			case 0:
				if err := to.Assign(from); err != nil {
					t.Fatal(err)
				}
			case 1:
				for i := range want.e {
					want.e[i].f = round(F32, want.e[i].f*2)
				}
				must(Elementwise(Program{{Op: OpScale, S: 2}}, to, from))(t)
			default:
				old := look(to)
				for i := range want.e {
					want.e[i].f = round(F32, old.e[i].f+want.e[i].f)
				}
				if err := AddInPlace(to, from); err != nil {
					t.Fatal(err)
				}
			}
			same(t, "overlap", to, want, 0)
		}
	})
}

func TestAssign_TransposedAndCast_EqualReference(t *testing.T) {
	eachSet(t, func(t *testing.T, r *rand.Rand) {
		for _, shape := range [][]int{{70, 90}, {33, 32}, {5, 40, 50}, {100, 3}} {
			for _, dt := range []DType{U8, F16, F32, F64} {
				src := random(t, r, dt, shape)
				flat := must(src.Copy())(t)
				same(t, "copy", flat, look(src), 0)
				turned := must(must(flat.Transpose())(t).Copy())(t)
				same(t, "transposed", must(turned.Transpose())(t), look(src), 0)
				dst := random(t, r, F64, shape)
				if err := dst.Assign(src); err != nil {
					t.Fatal(err)
				}
				want := look(src)
				for i := range want.e {
					want.e[i] = castFor(dt, want.e[i])
				}
				want.t = F64
				same(t, "cast", dst, want, 0)
			}
		}
	})
}

func castFor(from DType, x num) num {
	if from.Float() {
		return x
	}
	return num{f: float64(x.i)}
}

func TestTo_OtherDevice_CopiesBothWays(t *testing.T) {
	d := fakeDevice(t)
	r := rand.New(rand.NewPCG(5, 6))
	a := random(t, r, F16, []int{5, 7, 3})
	away := must(a.To(d))(t)
	if away.Device() != d {
		t.Fatalf("on %s", away.Device().Name())
	}
	same(t, "there", away, look(a), 0)
	same(t, "and back", must(must(away.To(CPU()))(t).To(CPU()))(t), look(a), 0)
	same(t, "between devices", must(away.To(fakeDevice(t)))(t), look(a), 0)
	b := must(New(CPU(), F16, 5, 7, 3))(t)
	if err := b.Assign(away); err != nil {
		t.Fatal(err)
	}
	same(t, "assigned", b, look(a), 0)
	_ = away.Free()
	if freed := d.back.(*fake).freed; freed != 1 {
		t.Errorf("%d allocations were freed on the device, want 1", freed)
	}
}
