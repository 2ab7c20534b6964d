package arguments

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// known returns an object with these facts.
func known(n uint64, f refs.Facts) *refs.Object {
	owner := ids.Owner{1}
	if f.OwnerAddr != "" {
		owner = ids.Owner{9}
	}
	return refs.Known(ids.NewObject(n, owner, ids.JobOf(1), 1), f)
}

// Arguments go to the store when those that can go there are too many bytes for one message:
// values of this process that are in memory only, are no errors, and are not tiny.
func TestTooMuch_OnlyWhatCanBeMovedCounts(t *testing.T) {
	const each = 1 << 20
	bytes := make([]byte, frame.MaxTogether+each)
	full := refs.Facts{State: refs.Inline, Value: bytes[:each]}
	with := func(change func(f *refs.Facts)) *refs.Object {
		f := full
		change(&f)
		return known(1, f)
	}
	for what, x := range map[string]struct {
		one  *refs.Object
		want bool
	}{
		"in memory":        {known(1, full), true},
		"in the store too": {with(func(f *refs.Facts) { f.State = refs.Stored }), false},
		"an error":         {with(func(f *refs.Facts) { f.IsError = true }), false},
		"another's":        {with(func(f *refs.Facts) { f.OwnerAddr = "x" }), false},
		"tiny":             {with(func(f *refs.Facts) { f.Value = bytes[:frame.SmallValue] }), false},
	} {
		var a Arguments
		for range frame.MaxTogether / each {
			a.AddDependency(known(2, full))
		}
		if a.TooMuch() {
			t.Fatal("as many bytes as fit are too many")
		}
		n := len(a.Movable())
		a.AddDependency(x.one)
		a.AddDependency(a.Dependencies()[0])
		if got := len(a.Movable()) - n; (got == 1) != x.want || got > 1 {
			t.Errorf("one more, which is %s: %d of two more can be moved", what, got)
		}
		a.deps = a.deps[:len(a.deps)-1]
		if got := a.TooMuch(); got != x.want {
			t.Errorf("one more, which is %s: they are too many: %v", what, got)
		}
	}
	if movable(known(1, refs.Facts{Value: bytes[:frame.SmallValue]})) || !movable(known(1, refs.Facts{Value: bytes[:frame.SmallValue+1]})) {
		t.Error("what is tiny is decided elsewhere than at its bound")
	}
}

// A creator keeps something for a constructor that may run again if it took anything.
func TestHolds_AnyArgumentThatIsReferredTo(t *testing.T) {
	o := []*refs.Object{{}}
	for what, x := range map[string]struct {
		a            Arguments
		holds, takes bool
	}{
		"nothing": {Of([]byte("x"), nil, nil, nil), false, false}, "a reference": {Of(nil, nil, o, nil), true, true},
		"a reference inside": {Of(nil, nil, nil, o), true, false}, "large arguments": {Of(nil, o[0], nil, nil), true, true},
	} {
		if x.a.Holds() != x.holds || x.a.Takes() != x.takes {
			t.Errorf("%s: it holds objects: %v, it takes objects: %v", what, x.a.Holds(), x.a.Takes())
		}
	}
}

func TestBad_TheFirstFailureIsFoundAndCountsAsSeen(t *testing.T) {
	good, raised := known(1, refs.Facts{State: refs.Inline}), known(2, refs.Facts{State: refs.Inline, IsError: true})
	lost, stored := known(3, refs.Facts{State: refs.Failed}), known(4, refs.Facts{State: refs.Stored})
	for i, x := range []struct {
		a    Arguments
		want *refs.Object
	}{
		{Of(nil, stored, []*refs.Object{good}, []*refs.Object{lost}), nil},
		{Of(nil, lost, []*refs.Object{good, raised}, nil), raised},
		{Of(nil, nil, []*refs.Object{lost}, nil), lost},
		{Of(nil, lost, []*refs.Object{good}, nil), lost},
	} {
		if got := x.a.Bad(); got != x.want {
			t.Errorf("case %d: %v", i, got)
		}
	}
	if good.Seen() || !raised.Seen() {
		t.Error("who looks at a failure is not noted, or a value counts as looked at")
	}
}

func TestAt_PlacesThatAWorkerNames(t *testing.T) {
	a, b, large := known(1, refs.Facts{}), known(2, refs.Facts{}), known(3, refs.Facts{})
	all := Of(nil, large, []*refs.Object{a, b}, nil)
	for i, want := range map[int]*refs.Object{-1: nil, 0: large, 1: a, 2: b, 3: nil} {
		if all.At(i) != want {
			t.Errorf("place %d: %v", i, all.At(i))
		}
	}
	if small := Of([]byte("x"), nil, []*refs.Object{a}, nil); small.At(0) != nil || small.At(1) != a || len(small.Awaited()) != 1 {
		t.Error("small arguments are an object")
	}
	if got := all.Awaited(); len(got) != 3 || got[2] != large || len(all.Dependencies()) != 2 {
		t.Errorf("it waits for %v", got)
	}
}
