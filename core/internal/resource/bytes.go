package resource

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// byteUnits are what may stand behind a number of bytes, in any case.
var byteUnits = map[string]int64{
	"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// ParseBytes reads a size such as "8GiB", "500 MB" or "1.5GiB": a decimal
// number and a unit, together at least one byte. Parts of a byte are left out.
func ParseBytes(text string) (int64, error) {
	t := strings.TrimSpace(text)
	i := len(t)
	for i > 0 && (t[i-1] < '0' || t[i-1] > '9') && t[i-1] != '.' {
		i--
	}
	number, unit := t[:i], strings.ToLower(strings.TrimSpace(t[i:]))
	scale, ok := byteUnits[unit]
	bytes, isNumber := new(big.Rat), isDecimal(number)
	if isNumber {
		_, isNumber = bytes.SetString(number)
	}
	if !isNumber || !ok {
		return 0, fmt.Errorf(`%q is not a size: write a number and a unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), as in "8GiB"`, text)
	}
	bytes.Mul(bytes, new(big.Rat).SetInt64(scale))
	switch {
	case bytes.Cmp(big.NewRat(1, 1)) < 0:
		return 0, fmt.Errorf("%q is not a size of memory: it must be above 0", text)
	case bytes.Cmp(new(big.Rat).SetInt64(MaxBytes)) > 0:
		return 0, fmt.Errorf("%q is too large: at most %s", text, FormatBytes(MaxBytes))
	}
	return new(big.Int).Quo(bytes.Num(), bytes.Denom()).Int64(), nil
}

// isDecimal reports whether s is digits with at most one point among them.
func isDecimal(s string) bool {
	whole, part, _ := strings.Cut(s, ".")
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	return whole != "" && len(s) <= 40 && digits(whole) && digits(part)
}

// Text writes an amount of a resource for people.
func Text(name string, a Amount) string {
	if name == GPUMemory {
		return FormatBytes(int64((a + Unit - 1) / Unit))
	}
	return a.String()
}

// FormatBytes writes a size for people: "8 GiB", "1.5 GiB", "500 MB", "1025 B".
func FormatBytes(n int64) string {
	for _, u := range []struct {
		name  string
		scale int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if n >= u.scale && n%u.scale == 0 && n/u.scale < 10_000 {
			return strconv.FormatInt(n/u.scale, 10) + " " + u.name
		}
	}
	scale, name := int64(1<<30), "GiB"
	switch {
	case n < 10_000:
		return strconv.FormatInt(n, 10) + " B"
	case n>>20 == 0:
		scale, name = 1<<10, "KiB"
	case n>>30 == 0:
		scale, name = 1<<20, "MiB"
	}
	return strings.TrimSuffix(strconv.FormatFloat(float64(n)/float64(scale), 'f', 1, 64), ".0") + " " + name
}
