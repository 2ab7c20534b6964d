package kernels

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

const saxpy = `
// __global__ void saxpy(int other) is not it
#include <stdint.h>
extern "C" __global__ void __launch_bounds__(256, 2)
saxpy(const float *__restrict__ x, float* y, float a, int64_t n /* elements */, unsigned char tail, double const*z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
__global__ void none() {}
template <typename T> __global__ void generic(T *x, Pair<int, int> p) {}
__global__ void odd(struct Thing t, unsigned long long u, int grid[], float **rows, void *any) {}
`

func TestLaunch_Arguments_BecomeTheParametersBytes(t *testing.T) {
	d := fakeDevice(t)
	k := must(Compile(d, saxpy, "saxpy"))(t)
	x, y, z := must(New(d, F32, 4))(t), must(New(d, F32, 4))(t), must(New(d, F64, 4))(t)
	locked := must(x.AsReadOnly())(t)
	if err := k.Launch(nil, [3]int{1, 1, 1}, [3]int{32, 1, 1}, 0, locked, y, 2, int32(4), uint64(7), z); err != nil {
		t.Fatal(err)
	}
	address := func(a *Array) uint64 { return uint64(uintptr(a.view.Ptr)) }
	want := []uint64{address(x), address(y), uint64(math.Float32bits(2)), 4, 7, address(z)}
	if got := d.back.(*fake).launched; !slices.Equal(got, want) {
		t.Fatalf("launched with %x, want %x", got, want)
	}
}

func TestLaunch_WrongArguments_TypedErrors(t *testing.T) {
	d := fakeDevice(t)
	k := must(Compile(d, saxpy, "saxpy"))(t)
	x, z := must(New(d, F32, 4))(t), must(New(d, F64, 4))(t)
	locked, away, closed := must(x.AsReadOnly())(t), must(New(CPU(), F32, 4))(t), must(New(d, F32, 4))(t)
	_ = closed.Free()
	foreign := must(CPU().NewStream())(t)
	one := [3]int{1, 1, 1}
	launch := func(args ...any) error { return k.Launch(nil, one, one, 0, args...) }
	for name, c := range map[string]struct {
		err  error
		kind any
		says string
	}{
		"too few":              {launch(x, x), new(*ArgumentError), "2 arguments for 6"},
		"an array of a type":   {launch(z, x, 1, 1, 1, z), new(*ArgumentError), "argument 0: an array of float64"},
		"an array for a float": {launch(x, x, x, 1, 1, z), new(*ArgumentError), "argument 2"},
		"a number for a array": {launch(1, x, 1, 1, 1, z), new(*ArgumentError), "takes an array"},
		"a fraction for n":     {launch(x, x, 1, 1.5, 1, z), new(*ArgumentError), "takes an integer"},
		"300 for a byte":       {launch(x, x, 1, 1, 300, z), new(*ArgumentError), "300 (int) does not fit"},
		"-1 for a byte":        {launch(x, x, 1, 1, -1, z), new(*ArgumentError), "does not fit"},
		"2^63 for n":           {launch(x, x, 1, uint64(1)<<63, 1, z), new(*ArgumentError), "does not fit"},
		"text":                 {launch(x, x, "1", 1, 1, z), new(*ArgumentError), "neither"},
		"nothing":              {launch(x, x, nil, 1, 1, z), new(*ArgumentError), "nil"},
		"a bool for n":         {launch(x, x, 1, true, 1, z), new(*ArgumentError), "bool"},
		"a read-only output":   {launch(x, locked, 1, 1, 1, z), ErrReadOnly, "argument 1"},
		"another device":       {launch(away, x, 1, 1, 1, z), new(*DeviceError), "argument 0"},
		"a freed array":        {launch(closed, x, 1, 1, 1, z), ErrClosed, "freed"},
		"another's stream":     {k.Launch(foreign, one, one, 0, x, x, 1, 1, 1, z), new(*DeviceError), "stream"},
		"no blocks":            {k.Launch(nil, [3]int{}, one, 0, x, x, 1, 1, 1, z), new(*ArgumentError), "grid"},
		"too many threads":     {k.Launch(nil, one, [3]int{64, 64, 1}, 0, x, x, 1, 1, 1, z), new(*ArgumentError), "1024"},
		"negative shared":      {k.Launch(nil, one, one, -1, x, x, 1, 1, 1, z), new(*ArgumentError), "shared"},
		"code that is wrong":   {second(Compile(d, "", "broken")), new(*CompileError), "line 1"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", name, c.err, c.says)
		} else if target, ok := c.kind.(error); ok && !errors.Is(c.err, target) || !ok && !errors.As(c.err, c.kind) {
			t.Errorf("%s: error %v has not the type %T", name, c.err, c.kind)
		}
	}
	_ = k.Close()
	if err := launch(x, x, 1, 1, 1, z); !errors.Is(err, ErrClosed) {
		t.Errorf("launch after close: %v, want ErrClosed", err)
	}
}

func TestSignature_Declarations_KindsOfParameters(t *testing.T) {
	kinds := func(name string) (kinds []paramKind) {
		for _, p := range signature(saxpy, name) {
			kinds = append(kinds, p.kind)
		}
		return kinds
	}
	if got := signature(saxpy, "none"); got == nil || len(got) != 0 {
		t.Errorf("none has parameters %v, want an empty list", got)
	}
	if got := signature(saxpy, "generic"); got != nil {
		t.Errorf("a template has parameters %v, want not known", got)
	}
	if got := signature(saxpy, "absent"); got != nil {
		t.Errorf("a function that is not there has parameters %v", got)
	}
	if got, want := kinds("odd"), []paramKind{kindUnknown, kindUint, kindPointer, kindPointer, kindPointer}; !slices.Equal(got, want) {
		t.Errorf("odd has kinds %v, want %v", got, want)
	}
	p := signature(saxpy, "saxpy")
	if !p[0].constant || p[1].constant || !p[5].constant || p[5].elem != F64 {
		t.Errorf("saxpy has parameters %+v", p)
	}
	if p := signature("__global__ void f(float *const x, unsigned n = 3) {}", "f"); len(p) != 2 || p[0].constant || p[1].kind != kindUint {
		t.Errorf("f has parameters %+v", p)
	}
}

func FuzzSignature(f *testing.F) {
	f.Add(saxpy, "saxpy")
	f.Add("__global__ void f(int a[3], float*", "f")
	f.Add("__global__ void __launch_bounds__((1)) f(", "f")
	f.Fuzz(func(t *testing.T, source, name string) {
		for _, p := range signature(source, name) {
			if p.kind == kindInt && p.size == 0 {
				t.Errorf("%q: an integer without a size", p.text)
			}
		}
	})
}

func TestStreams_ArraysOfDifferentOnes_WaitForEachOther(t *testing.T) {
	d := fakeDevice(t)
	f := d.back.(*fake)
	s1, s2 := must(d.NewStream())(t), must(d.NewStream())(t)
	a := must(New(d, F32, 4))(t)
	a1, a2 := must(a.On(s1))(t), must(a.On(s2))(t)
	r := must(Add(a1, a2))(t)
	if r.Stream() != s1 {
		t.Error("the result is not on the first array's stream")
	}
	if err := AddInPlace(a2, r); err != nil {
		t.Fatal(err)
	}
	must(Add(a, a))(t)
	want := []string{"1 waits for 2", "map on 1", "2 waits for 1", "map on 2", "map on 0"}
	// The result's own memory is fresh: nothing waits for it.
	if !slices.Equal(f.log, want) {
		t.Errorf("log %q, want %q", f.log, want)
	}
	_ = s1.Close()
	f.log = nil
	if made := must(MulTwo(a1))(t); made.Stream() != nil {
		t.Error("the result is on the closed stream")
	}
	if want := []string{"map on 0"}; !slices.Equal(f.log, want) {
		t.Errorf("log %q after the stream was closed, want %q", f.log, want)
	}
	if _, err := a.On(s1); !errors.Is(err, ErrClosed) {
		t.Errorf("binding to a closed stream: %v, want ErrClosed", err)
	}
}

func TestEvents_OnTheProcessor_MeasureTime(t *testing.T) {
	s := must(CPU().NewStream())(t)
	first := must(s.Record())(t)
	x := must(New(CPU(), F64, 1<<18))(t)
	must(Exp(must(x.On(s))(t)))(t)
	last := must(CPU().Record())(t)
	if ms := must(last.Since(first))(t); ms <= 0 || ms > 60_000 {
		t.Errorf("2^18 exponentials took %v ms", ms)
	}
	if done, err := last.Done(); !done || err != nil {
		t.Errorf("done: %v, %v", done, err)
	}
	_ = first.Close()
	if _, err := last.Since(first); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed event: %v, want ErrClosed", err)
	}
	_ = s.Close()
	if err := s.Synchronize(); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed stream: %v, want ErrClosed", err)
	}
}
