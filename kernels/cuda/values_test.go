//go:build cuda && cgo

package cuda

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/eagleray/eagleray/kernels/backend"
)

var allTypes = []backend.DType{backend.F16, backend.BF16, backend.F32, backend.F64, backend.I32, backend.I64, backend.U8}

var floatTypes = allTypes[:4]

// value is one element: f of floating-point types, i of integers.
type value struct {
	f float64
	i int64
}

// decode reads an element.
func decode(t backend.DType, b []byte) value {
	switch t {
	case backend.F16:
		h := binary.LittleEndian.Uint16(b)
		exponent, fraction := int(h>>10&31), float64(h&1023)
		f := math.Ldexp(fraction, -24)
		switch {
		case exponent == 31 && fraction != 0:
			return value{f: math.NaN()}
		case exponent == 31:
			f = math.Inf(1)
		case exponent > 0:
			f = math.Ldexp(1024+fraction, exponent-25)
		}
		if h>>15 != 0 {
			f = -f
		}
		return value{f: f}
	case backend.BF16:
		return value{f: float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))}
	case backend.F32:
		return value{f: float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))}
	case backend.F64:
		return value{f: math.Float64frombits(binary.LittleEndian.Uint64(b))}
	case backend.I32:
		return value{i: int64(int32(binary.LittleEndian.Uint32(b)))}
	case backend.I64:
		return value{i: int64(binary.LittleEndian.Uint64(b))}
	}
	return value{i: int64(b[0])}
}

// encode writes an element, rounding to nearest even.
func encode(t backend.DType, b []byte, v value) {
	switch t {
	case backend.F16:
		binary.LittleEndian.PutUint16(b, uint16(small(v.f, 10, 5)))
	case backend.BF16:
		binary.LittleEndian.PutUint16(b, uint16(small(v.f, 7, 8)))
	case backend.F32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v.f)))
	case backend.F64:
		binary.LittleEndian.PutUint64(b, math.Float64bits(v.f))
	case backend.I32:
		binary.LittleEndian.PutUint32(b, uint32(v.i))
	case backend.I64:
		binary.LittleEndian.PutUint64(b, uint64(v.i))
	case backend.U8:
		b[0] = byte(v.i)
	}
}

// small encodes a float with few bits, by arithmetic instead of by shifting.
func small(f float64, fraction, exponent int) uint32 {
	bias := 1<<(exponent-1) - 1
	sign := uint32(0)
	if math.Signbit(f) {
		sign = 1 << (fraction + exponent)
	}
	infinite := uint32(1<<exponent-1) << fraction
	a := math.Abs(f)
	switch {
	case math.IsNaN(f):
		return sign | infinite | 1<<(fraction-1)
	case a == 0:
		return sign
	case math.IsInf(f, 0):
		return sign | infinite
	}
	_, e := math.Frexp(a) // a = m·2^e, m in [0.5, 1)
	e = max(e-1, 1-bias)
	units := math.RoundToEven(math.Ldexp(a, fraction-e)) // in units of the last place
	bits := uint32(units) + uint32(e+bias-1)<<fraction
	return sign | min(bits, infinite)
}

// random is an element as tests want it: special ones are frequent.
func random(r *rand.Rand, t backend.DType) value {
	if !t.Float() {
		switch r.IntN(8) {
		case 0:
			return value{i: []int64{0, 1, -1, math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32, 255}[r.IntN(8)]}
		case 1:
			return value{i: int64(r.Uint64())}
		}
		return value{i: int64(r.IntN(200) - 100)}
	}
	switch r.IntN(12) {
	case 0:
		return value{f: []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}[r.IntN(5)]}
	case 1:
		return value{f: []float64{65504, 65520, 6e-8, 5e-324, 1e-40, 3.4e38, 1e308, -300, 255.9}[r.IntN(9)]}
	}
	return value{f: r.NormFloat64() * 10}
}

// plain is an element without overflow, and seldom without a number.
func plain(r *rand.Rand, t backend.DType) value {
	if t.Float() && r.IntN(2000) == 0 {
		return value{f: []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]}
	}
	return value{f: r.NormFloat64(), i: int64(r.IntN(100) - 50)}
}

func equal(a, b value) bool {
	return a.i == b.i && (a.f == b.f || math.IsNaN(a.f) && math.IsNaN(b.f))
}

// near compares with a relative tolerance, and an absolute one for what is small.
func near(a, b value, tolerance float64) bool {
	if equal(a, b) {
		return true
	}
	return a.i == b.i && math.Abs(a.f-b.f) <= tolerance*max(math.Abs(a.f), math.Abs(b.f), 1e-3)
}

// rounded is v as t has it.
func rounded(t backend.DType, v value) value {
	var b [8]byte
	encode(t, b[:], v)
	return decode(t, b[:])
}
