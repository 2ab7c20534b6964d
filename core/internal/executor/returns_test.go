package executor

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/frame"
)

// What an item tells says how many references of a generator travel, and of which kind it is.
func TestGeneratorReturns_KindAndSizeOfGroups_AreTold(t *testing.T) {
	for _, x := range []struct {
		f    frame.Flow
		want int
	}{
		{frame.Flow{Mode: frame.FlowStream}, -1},
		{frame.Flow{Mode: frame.FlowStream, Each: 1}, -1},
		{frame.Flow{Mode: frame.FlowStream, Each: 2}, -3},
		{frame.Flow{Mode: frame.FlowDynamic}, -2},
		{frame.Flow{Mode: frame.FlowDynamic, Each: 3}, -6},
	} {
		if got := generatorReturns(x.f); got != x.want {
			t.Errorf("%+v: %d, want %d", x.f, got, x.want)
		}
	}
}

// What Item.Returns says of a generator tells its kind and its results for each item apart.
func TestFlow_Returns_TellsKindAndNumberApart(t *testing.T) {
	seen := map[int]frame.Flow{}
	for _, mode := range []int{frame.FlowStream, frame.FlowDynamic} {
		for each := range 6 {
			f := frame.Flow{Mode: mode, Each: each}
			n := generatorReturns(f)
			if n >= 0 || (n%2 != 0) != (mode == frame.FlowStream) {
				t.Errorf("%+v is told as %d", f, n)
			}
			if other, there := seen[n]; there && (other.Mode != mode || max(1, other.Each) != max(1, each)) {
				t.Errorf("%+v and %+v are both told as %d", f, other, n)
			}
			seen[n] = f
		}
	}
}
