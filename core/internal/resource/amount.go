package resource

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Amount is a quantity of a resource in units of 1/10000, as on the wire.
type Amount int64

// Unit is one whole of a resource.
const Unit Amount = 10000

// maxWholes bounds one quantity (100 TB of memory); sums of dozens still fit.
const maxWholes = 1e14

// Why a quantity is not an amount.
var (
	ErrNegative   = errors.New("is negative")
	ErrNotNumber  = errors.New("is not a finite number")
	ErrTooPrecise = errors.New("is over-precise: amounts have at most 4 decimals (0.0001)")
	ErrTooLarge   = errors.New("is too large")
)

// FromInt returns n wholes.
func FromInt(n int64) Amount { return Amount(n) * Unit }

// FromFloat returns f as an amount. It must have at most four decimals; what
// binary floating point adds to them (0.1+0.2) is forgiven.
func FromFloat(f float64) (Amount, error) {
	if err := checkFloat(f); err != nil {
		return 0, err
	}
	scaled := f * float64(Unit)
	whole := math.Round(scaled)
	if math.Abs(scaled-whole) > 1e-6*max(1, f) || whole == 0 && f != 0 {
		return 0, fmt.Errorf("%s %w", formatFloat(f), ErrTooPrecise)
	}
	return Amount(whole), nil
}

// Floor cuts f to four decimals, as Ray does, so that 1/3 means 0.3333. Only
// a quantity of which nothing is left is over-precise.
func Floor(f float64) (Amount, error) {
	if a, err := FromFloat(f); err == nil || !errors.Is(err, ErrTooPrecise) {
		return a, err
	}
	a := Amount(math.Floor(f * float64(Unit)))
	if a == 0 {
		return 0, fmt.Errorf("%s %w", formatFloat(f), ErrTooPrecise)
	}
	return a, nil
}

func checkFloat(f float64) error {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return fmt.Errorf("%s %w", formatFloat(f), ErrNotNumber)
	case f < 0:
		return fmt.Errorf("%s %w", formatFloat(f), ErrNegative)
	case f > maxWholes:
		return fmt.Errorf("%s %w", formatFloat(f), ErrTooLarge)
	}
	return nil
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Float returns the amount in wholes.
func (a Amount) Float() float64 { return float64(a) / float64(Unit) }

// Whole reports whether a is a whole number.
func (a Amount) Whole() bool { return a%Unit == 0 }

// String returns the amount in wholes with up to four decimals: "0.5".
func (a Amount) String() string {
	n, sign := uint64(a), ""
	if a < 0 {
		n, sign = -n, "-"
	}
	s := sign + strconv.FormatUint(n/uint64(Unit), 10)
	frac := n % uint64(Unit)
	if frac == 0 {
		return s
	}
	d := strconv.FormatUint(frac+uint64(Unit), 10)[1:]
	for d[len(d)-1] == '0' {
		d = d[:len(d)-1]
	}
	return s + "." + d
}
