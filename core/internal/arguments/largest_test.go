package arguments

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

func inStore(n, size uint64) *refs.Object {
	return known(n, refs.Facts{State: refs.Stored, Size: size})
}

func TestLargest_StoredOnes_LargestFirst(t *testing.T) {
	own, small, large, middle := inStore(1, 20), inStore(2, 10), inStore(3, 30), inStore(4, 25)
	inline := known(5, refs.Facts{State: refs.Inline, Value: make([]byte, 99)})
	a := Of(nil, own, []*refs.Object{small, inline, large, large, middle}, []*refs.Object{inStore(6, 99)})
	for n, want := range map[int][]*refs.Object{0: {}, 1: {large}, 2: {large, middle}, 9: {large, middle, own, small}} {
		if got := a.Largest(n); !slices.Equal(got, want) {
			t.Errorf("of %d: %v", n, got)
		}
	}
	if none := Of([]byte("x"), nil, nil, []*refs.Object{large}); len(none.Largest(4)) != 0 {
		t.Errorf("a task without stored arguments has %v", none.Largest(4))
	}
}

// pinned is a copy that this process has pinned.
type pinned struct{}

func (pinned) InUse() bool { return false }

func TestHome_MostBytesDecide(t *testing.T) {
	table := refs.NewTable(ids.DaemonOn(1), ids.JobOf(1), "own", nil)
	at := func(node uint32, o *refs.Object) *refs.Object {
		table.SetHome(o, node)
		return o
	}
	here := func(o *refs.Object) *refs.Object {
		o.SetCopy(pinned{})
		return o
	}
	large := at(2, inStore(1, 30))
	for _, x := range []struct {
		what   string
		stored *refs.Object
		deps   []*refs.Object
		want   uint32
	}{
		{"nothing", nil, nil, 0},
		{"all is here", inStore(2, 50), []*refs.Object{inStore(3, 10), at(1, inStore(4, 10))}, 1},
		{"a small value came from there", nil, []*refs.Object{at(2, known(5, refs.Facts{State: refs.Inline}))}, 0},
		{"one is there", nil, []*refs.Object{inStore(6, 10), large}, 2},
		{"more is here", inStore(7, 25), []*refs.Object{inStore(8, 10), large}, 1},
		{"as much is here", inStore(9, 30), []*refs.Object{large}, 1},
		{"the same one twice", inStore(10, 40), []*refs.Object{large, large}, 1},
		{"two nodes", nil, []*refs.Object{at(3, inStore(11, 20)), large, at(3, inStore(12, 20))}, 3},
		{"this process has pinned its copy", nil, []*refs.Object{here(at(2, inStore(13, 30)))}, 1},
		{"it is not known where", nil, []*refs.Object{at(refs.Elsewhere, inStore(14, 10))}, refs.Elsewhere},
	} {
		a := Of(nil, x.stored, x.deps, nil)
		if got := a.Home(table, 1); got != x.want {
			t.Errorf("%s: node %d, want %d", x.what, got, x.want)
		}
	}
	a := Of(nil, nil, []*refs.Object{large, at(3, inStore(15, 30))}, nil)
	if a.Came(table); a.Home(table, 1) != 1 {
		t.Errorf("after a task was sent here: node %d", a.Home(table, 1))
	}
}
