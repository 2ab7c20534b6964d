package templates

import (
	"maps"
	"math"
	"math/bits"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// MemoryName is the resource that a retry may ask more of.
const MemoryName = "memory"

// Doubled returns twice the amount of memory asked for, in units, or, when that is 0,
// twice the bytes held, the next power of two.
func Doubled(asked int64, held uint64) int64 {
	if asked > 0 {
		return 2 * min(asked, math.MaxInt64/2)
	}
	n := max(held, 1<<20)
	n = 1 << min(bits.Len64(n-1), 40)
	return 2 * int64(n) * int64(resource.Unit)
}

// WithMemory returns a template of its own that asks for so much memory, also in its
// alternatives that ask for less. It has no number, no class and no past.
func (t *Template[C]) WithMemory(want int64) *Template[C] {
	x := *t
	x.Class, x.Larger, x.retired, x.recipes, x.base, x.nears = nil, nil, false, 0, nil, nil
	x.finished, x.failed, x.Open = 0, 0, 0
	x.Resources = atLeast(t.Resources, want)
	x.Fallback = nil
	for _, o := range t.Fallback {
		y := *o
		y.Resources = atLeast(o.Resources, want)
		x.Fallback = append(x.Fallback, &y)
	}
	return &x
}

func atLeast(r map[string]int64, want int64) map[string]int64 {
	r = maps.Clone(r)
	if r == nil {
		r = make(map[string]int64)
	}
	r[MemoryName] = max(r[MemoryName], want)
	return r
}
