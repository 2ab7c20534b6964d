//go:build cuda && cgo

package cuda

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// converted is what a copy to another type gives: what kernels promises.
func converted(from, to backend.DType, v value) value {
	switch {
	case from.Float() && to.Float():
		return rounded(to, v)
	case from.Float():
		low, high := int64(math.MinInt64), int64(math.MaxInt64)
		switch to {
		case backend.I32:
			low, high = math.MinInt32, math.MaxInt32
		case backend.U8:
			low, high = 0, 255
		}
		switch f := math.Trunc(v.f); {
		case math.IsNaN(f):
			return value{}
		case f <= float64(low):
			return value{i: low}
		case f >= float64(high):
			return value{i: high}
		default:
			return value{i: int64(f)}
		}
	case to == backend.F64:
		return value{f: float64(v.i)}
	case to.Float():
		return rounded(to, value{f: float64(float32(v.i))})
	}
	return rounded(to, v)
}

func TestCopyAndCastAgainstReference(t *testing.T) {
	d := device(t)
	for _, from := range allTypes {
		for _, to := range allTypes {
			t.Run(fmt.Sprintf("%v to %v", from, to), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(from), uint64(to)))
				for range 12 {
					shape := randomShape(r, r.IntN(5))
					src := newArray(t, d, r, layout(r.IntN(3)), from, shape, random)
					dst := newArray(t, d, r, layout(r.IntN(2)), to, shape, random)
					must(t, d.Copy(nil, dst.View, src.View))
					got := dst.fetch(t, d)
					for i := range dst.len() {
						dst.set(i, converted(from, to, src.get(i)))
					}
					compare(t, dst, got, true)
				}
			})
		}
	}
}

func TestRoundingToHalves(t *testing.T) {
	d := device(t)
	for _, to := range []backend.DType{backend.F16, backend.BF16} {
		var x []float64
		for bits := range 1 << 16 { // every half, and the neighbourhood of the middles between two
			b := []byte{byte(bits), byte(bits >> 8)}
			f := decode(to, b).f
			middle := (f + decode(to, []byte{byte(bits + 1), byte((bits + 1) >> 8)}).f) / 2
			x = append(x, f, middle, math.Nextafter(middle, math.Inf(1)), math.Nextafter(middle, math.Inf(-1)))
		}
		in, out := view(t, d, backend.F64, len(x)), view(t, d, to, len(x))
		must(t, d.Upload(nil, in, host(backend.F64, x, len(x))))
		must(t, d.Copy(nil, out, in))
		got := make([]byte, 2*len(x))
		must(t, d.Download(nil, host(to, got, len(x)), out))
		for i, f := range x {
			if w, g := rounded(to, value{f: f}), decode(to, got[2*i:]); !equal(w, g) {
				t.Fatalf("%v of %v is %v, want %v", to, f, g.f, w.f)
			}
		}
	}
}

func TestUploadAndDownloadOfAnyLayout(t *testing.T) {
	d := device(t)
	r := rand.New(rand.NewPCG(3, 4))
	for trial := range 120 {
		dtype, shape := allTypes[r.IntN(len(allTypes))], randomShape(r, r.IntN(6))
		if trial == 60 {
			defer func(n int) { stagingSize = n }(stagingSize)
			stagingSize = 1 << 10 // several pieces for one view
		}
		a := newArray(t, d, r, strided, dtype, shape, random)
		b := newArray(t, d, r, strided, dtype, shape, random)
		// From a's host view to b's place on the device, and from there to a third host view.
		must(t, d.Upload(nil, b.View, a.host))
		got := b.fetch(t, d)
		for i := range b.len() {
			copy(b.element(i), a.element(i))
		}
		compare(t, b, got, true)
		c := newArray(t, d, r, strided, dtype, shape, random)
		must(t, d.Download(nil, c.host, b.View))
		for i := range c.len() {
			if !bytes.Equal(c.element(i), a.element(i)) {
				t.Fatalf("%v %v: element %d changed on its way", dtype, shape, i)
			}
		}
	}
}

func TestCopyOfManyDimensions(t *testing.T) {
	d := device(t)
	r := rand.New(rand.NewPCG(5, 6))
	shape := []int{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}
	for range 5 {
		src := newArray(t, d, r, strided, backend.F32, shape, random)
		dst := newArray(t, d, r, strided, backend.F64, shape, random)
		must(t, d.Copy(nil, dst.View, src.View))
		got := dst.fetch(t, d)
		for i := range dst.len() {
			dst.set(i, src.get(i))
		}
		compare(t, dst, got, true)
	}
}

func TestCopyBetweenViewsThatOverlap(t *testing.T) {
	d := device(t)
	const n = 3000
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(i)
	}
	all := view(t, d, backend.I32, n)
	must(t, d.Upload(nil, all, host(backend.I32, x, n)))
	reversed := backend.View{Ptr: unsafe.Add(all.Ptr, 4*(n-1)), DType: backend.I32, Shape: []int{n}, Strides: []int{-4}}
	must(t, d.Copy(nil, all, reversed))
	must(t, d.Download(nil, host(backend.I32, x, n), all))
	for i := range x {
		if x[i] != int32(n-1-i) {
			t.Fatalf("element %d is %d, want %d", i, x[i], n-1-i)
		}
	}
}
