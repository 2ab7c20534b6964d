package arguments

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/internal/refs"
)

func TestLargest_StoredOnes_LargestFirst(t *testing.T) {
	stored := func(n, size uint64) *refs.Object { return known(n, refs.Facts{State: refs.Stored, Size: size}) }
	own, small, large, middle := stored(1, 20), stored(2, 10), stored(3, 30), stored(4, 25)
	inline := known(5, refs.Facts{State: refs.Inline, Value: make([]byte, 99)})
	a := Of(nil, own, []*refs.Object{small, inline, large, large, middle}, []*refs.Object{stored(6, 99)})
	for n, want := range map[int][]*refs.Object{0: nil, 1: {large}, 2: {large, middle}, 9: {large, middle, own, small}} {
		got := a.Largest(n)
		if !slices.EqualFunc(got, want, func(id []byte, o *refs.Object) bool { return slices.Equal(id, o.ID.Raw()) }) {
			t.Errorf("of %d: %x", n, got)
		}
	}
	if none := Of([]byte("x"), nil, nil, []*refs.Object{large}); none.Largest(4) != nil {
		t.Errorf("a task without stored arguments has %x", none.Largest(4))
	}
}
