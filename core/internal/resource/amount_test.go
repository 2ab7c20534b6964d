package resource

import (
	"errors"
	"math"
	"testing"
)

func TestFromFloat_Quantities_ExactUnitsOrError(t *testing.T) {
	for _, c := range []struct {
		in   float64
		want Amount
		err  error
	}{
		{0, 0, nil},
		{1, 10000, nil},
		{0.5, 5000, nil},
		{0.0001, 1, nil},
		{0.1 + 0.2, 3000, nil},
		{0.7 * 3, 21000, nil},
		{123456.7891, 1234567891, nil},
		{8 << 30, (8 << 30) * 10000, nil},
		{0.50000000005, 5000, nil}, // as near as floating point may be
		{0.50000000015, 0, ErrTooPrecise},
		{1e14, 1e18, nil},
		{1e14 + 1, 0, ErrTooLarge},
		{1.00001, 0, ErrTooPrecise},
		{0.00001, 0, ErrTooPrecise},
		{1e-12, 0, ErrTooPrecise},
		{1.0 / 3, 0, ErrTooPrecise},
		{-1, 0, ErrNegative},
		{-1e-9, 0, ErrNegative},
		{math.NaN(), 0, ErrNotNumber},
		{math.Inf(1), 0, ErrNotNumber},
		{math.Inf(-1), 0, ErrNotNumber},
		{1e300, 0, ErrTooLarge},
	} {
		got, err := FromFloat(c.in)
		if got != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("FromFloat(%v) = %d, %v; want %d, %v", c.in, got, err, c.want, c.err)
		}
	}
}

func TestFromFloat_EveryAmount_RoundTrips(t *testing.T) {
	for a := Amount(0); a < 200000; a++ {
		if got, err := FromFloat(a.Float()); got != a || err != nil {
			t.Fatalf("FromFloat(%v) = %d, %v; want %d", a.Float(), got, err, a)
		}
	}
}

func TestFloor_OverPreciseQuantities_CutAsRayDoes(t *testing.T) {
	for in, want := range map[float64]Amount{1.0 / 3: 3333, 1.00001: 10000, 2.0 / 3: 6666, 0.5: 5000, 0.00015: 1} {
		if got, err := Floor(in); got != want || err != nil {
			t.Errorf("Floor(%v) = %d, %v; want %d", in, got, err, want)
		}
	}
	for in, want := range map[float64]error{1e-5: ErrTooPrecise, -1: ErrNegative, math.NaN(): ErrNotNumber} {
		if _, err := Floor(in); !errors.Is(err, want) {
			t.Errorf("Floor(%v): %v, want %v", in, err, want)
		}
	}
}

func TestAmount_String_ShortestDecimal(t *testing.T) {
	for a, want := range map[Amount]string{
		0: "0", 10000: "1", 5000: "0.5", 1: "0.0001", 12345: "1.2345", -2500: "-0.25", -10000: "-1", 10100: "1.01",
		math.MinInt64: "-922337203685477.5808",
	} {
		if got := a.String(); got != want {
			t.Errorf("Amount(%d) = %q, want %q", int64(a), got, want)
		}
	}
}
