package generators

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// lost returns the items that a run is to make anew.
func lost(x *Table, g *Generator) string {
	list := []uint64{}
	x.EachLost(g, func(i uint64, _ *refs.Object) { list = append(list, i) })
	return fmt.Sprint(list)
}

// A second run makes what was lost, and knows what the first run has yielded since. What it does not make
// before its end fails, and nothing else does.
func TestSecondRun_MakesItsOwnItemsOnly(t *testing.T) {
	x, objects := newTable()
	g, _ := called(x, objects, stream)
	yields(x, objects, g, 4)
	second, third := lose(x, g, "second", 0, 2), lose(x, g, "third", 3)
	if a, b, none := lost(x, second), lost(x, third), lost(x, g); a != "[0 2]" || b != "[3]" || none != "[]" {
		t.Fatalf("the runs make %s, %s and %s", a, b, none)
	}
	if r := x.Resume(second); r.Have != frame.All || r.Taken != frame.All || fmt.Sprint(r.Lost) != "[0 2]" {
		t.Errorf("the worker of a second run hears %+v", r)
	}
	yields(x, objects, g, 2)
	if n := second.Facts(); n.Items != 6 || !n.Again {
		t.Errorf("the second run knows %+v, want 6 items", n)
	}
	objects.Complete(x.item(g, 2), refs.Inline, []byte{2}, 1, false)
	second.Came(2)
	if second.Got() != 4 {
		t.Errorf("an item that came again counts: %d", second.Got())
	}
	x.Ended(second, "g", stream, false)
	if codeOf(x.item(g, 0)) != fault.StreamInconsistent || codeOf(x.item(g, 2)) != "" || codeOf(x.item(g, 3)) != "" || x.item(g, 3).State() != refs.Pending {
		t.Errorf("items 0, 2 and 3 end with %q, %q, %q", codeOf(x.item(g, 0)), codeOf(x.item(g, 2)), codeOf(x.item(g, 3)))
	}
	if x.Yielding(x.item(g, 1)) != g || g.Task() == nil {
		t.Error("the first run has ended with the second one")
	}
}

// The exception of a second run stands for all that it has not made. It comes as an item that the program may have let go of.
func TestRaisedLost_TheWorkersItemIsGone_TheOthersGetTheException(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, stream)
	yields(x, objects, g, 3)
	take(t, x, objects, own)
	objects.Unref(x.item(g, 0), 1)
	objects.CarryOut()
	second := lose(x, g, "second", 1, 2)
	place := x.PlaceLast(second, 0)
	if place == nil || place != x.item(g, 0) || place.Pins() != 1 || x.PlaceLast(second, 1) != nil {
		t.Fatalf("the exception gets the place %v", place)
	}
	objects.Complete(place, refs.Inline, []byte("raised"), 6, true)
	x.RaisedLost(second, 0)
	for i := range uint64(3) {
		if o := x.item(g, i); !o.IsError() || !o.State().Ready() {
			t.Errorf("item %d is in state %d, an exception: %v", i, o.State(), o.IsError())
		}
	}
	if x.Makes(second) || x.PlaceLast(second, 9) != nil {
		t.Error("the run still has items to make")
	}
	x.RaisedAll(g, own, 1)
	if !own.IsError() || g.state(own) != Item {
		t.Errorf("the generator's own object is an exception: %v; state %d", own.IsError(), g.state(own))
	}
	for range 2 {
		if _, _, st, err := x.Take(own.ID); st != Item || err != nil {
			t.Fatalf("state %d, %v", st, err)
		}
	}
	if g.state(own) != End {
		t.Errorf("the program is told of the exception twice: state %d", g.state(own))
	}
}

func TestRaisedLost_ItemIsAValue_NothingFails(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, stream)
	yields(x, objects, g, 2)
	second := lose(x, g, "second", 1)
	x.RaisedLost(second, 0)
	x.RaisedAll(g, own, 0)
	if lost(x, second) != "[1]" || own.IsError() {
		t.Error("a value is taken for an exception")
	}
}

func TestListDiffers_TheListFailsAndHoldsNothing(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, frame.FlowDynamic)
	yields(x, objects, g, 1)
	objects.Contain(own, x.item(g, 0))
	x.ListDiffers(own, "g")
	if codeOf(own) != fault.StreamInconsistent || len(own.Contained()) != 0 || x.item(g, 0).Pins() != 1 {
		t.Errorf("the list ends with %q, contains %v, and its item has %d pins", codeOf(own), own.Contained(), x.item(g, 0).Pins())
	}
}

func TestEachToCome_FirstRunAndSecondRun(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, stream)
	yields(x, objects, g, 2)
	toCome := func(g *Generator) string {
		list := []uint64{}
		x.EachToCome(g, func(i uint64, _ *refs.Object) { list = append(list, i) })
		return fmt.Sprint(list)
	}
	if got := toCome(g); got != "[]" {
		t.Errorf("nobody waits, and %s fail with the run", got)
	}
	for range 2 {
		take(t, x, objects, own)
	}
	if _, _, err := x.Next(own.ID); err != nil {
		t.Fatal(err)
	}
	if got, again := toCome(g), toCome(lose(x, g, "second", 1)); got != "[2]" || again != "[1]" {
		t.Errorf("the first run is to make %s, the second one %s", got, again)
	}
}

// An item names its generator by its own number. Other objects, and made-up numbers, name none.
func TestYielding_AnyObject(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, stream)
	yields(x, objects, g, 3)
	list, _ := called(x, objects, frame.FlowDynamic)
	yields(x, objects, list, 1)
	known := func(count uint64, index uint32) *refs.Object {
		return refs.Known(ids.NewObject(count, x.self, x.job, index), refs.Facts{})
	}
	for what, c := range map[string]struct {
		o    *refs.Object
		want *Generator
	}{
		"item 2":            {x.item(g, 2), g},
		"its own object":    {own, nil},
		"an item of a list": {x.item(list, 0), nil},
		"another index":     {known(own.ID.Count()+1, 3), nil},
		"no index":          {known(own.ID.Count()+1, 0), nil},
		"an index too far":  {known(1, 9), nil},
	} {
		if got := x.Yielding(c.o); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
