package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
)

// Arguments go to the arena when those that can go there are too many bytes for one message:
// values of this process that are in memory only, are no errors, and are not tiny.
func TestTooMuch_OnlyWhatCanBeMovedCounts(t *testing.T) {
	const each = 1 << 20
	bytes := make([]byte, maxTogether+each)
	full := func(change func(f *refs.Facts)) *refs.Object {
		o := refs.Known(ids.Object{}, refs.Facts{State: refs.Inline, Value: bytes[:each]})
		if change != nil {
			alter(o, change)
		}
		return o
	}
	for what, x := range map[string]struct {
		one  *refs.Object
		want bool
	}{
		"in memory":        {full(nil), true},
		"in the store too": {full(func(f *refs.Facts) { f.State = refs.Stored }), false},
		"an error":         {full(func(f *refs.Facts) { f.IsError = true }), false},
		"another's":        {full(func(f *refs.Facts) { f.OwnerAddr = "x" }), false},
		"tiny":             {full(func(f *refs.Facts) { f.Value = bytes[:smallValue] }), false},
	} {
		y := &task{}
		for range maxTogether / each {
			y.deps = append(y.deps, full(nil))
		}
		if y.tooMuch() {
			t.Fatal("as many bytes as fit are too many")
		}
		y.deps = append(y.deps, x.one)
		if got := y.tooMuch(); got != x.want {
			t.Errorf("one more, which is %s: they are too many: %v", what, got)
		}
	}
	if promotable(refs.Known(ids.Object{}, refs.Facts{Value: bytes[:smallValue]})) || !promotable(refs.Known(ids.Object{}, refs.Facts{Value: bytes[:smallValue+1]})) {
		t.Error("what is tiny is decided elsewhere than at its bound")
	}
}

// A creator keeps something for a constructor that may run again if it took anything.
func TestHolds_AnyArgumentThatIsReferredTo(t *testing.T) {
	o := []*refs.Object{{}}
	for what, x := range map[string]struct {
		t    task
		want bool
	}{
		"nothing": {task{args: []byte("x")}, false}, "a reference": {task{deps: o}, true},
		"a reference inside": {task{nested: o}, true}, "large arguments": {task{argsRef: o[0]}, true},
	} {
		if got := (&creation{task: &x.t}).holds(); got != x.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
