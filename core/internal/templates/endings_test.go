package templates

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// class stands for a scheduling class.
type class struct{}

// The tasks of functions that are gone are counted by name, those of too many names together.
func TestEnds_TooManyNames_TheLaterOnesAreCountedTogether(t *testing.T) {
	var x Endings[class]
	x.retire(&Template[class]{Name: "unused"})
	if x.Retired != nil {
		t.Error("a function that never ran is counted")
	}
	for i := range MaxEnds {
		x.retire(&Template[class]{Name: fmt.Sprint(i), finished: 1})
	}
	x.retire(&Template[class]{Name: "0", finished: 2, failed: 3})
	x.retire(&Template[class]{Name: "late", finished: 4, failed: 5})
	x.retire(&Template[class]{Name: "later", finished: 6, failed: 7})
	x.retire(&Template[class]{Name: "0", Kind: frame.KindMethod, failed: 1})
	is := func(name, kind string, want wire.Ends) {
		t.Helper()
		y := x.Retired[[2]string{name, kind}]
		if y == nil || y.Name != want.Name || y.Method != want.Method || y.Finished != want.Finished || y.Failed != want.Failed {
			t.Errorf("%s %s: %+v, want %+v", kind, name, y, want)
		}
	}
	function, method := (&Template[class]{}).KindName(), (&Template[class]{Kind: frame.KindMethod}).KindName()
	is("0", function, wire.Ends{Name: "0", Finished: 3, Failed: 3})
	is(manyNames, function, wire.Ends{Name: manyNames, Finished: 10, Failed: 12})
	is(manyNames, method, wire.Ends{Name: manyNames, Method: true, Failed: 1})
	if len(x.Retired) != MaxEnds+2 {
		t.Errorf("%d names are counted", len(x.Retired))
	}
}
