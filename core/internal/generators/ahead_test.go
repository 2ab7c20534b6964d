package generators

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// ahead returns the object of the item that is n items after the next one.
func ahead(t *testing.T, x *Table, objects *refs.Table, own *refs.Object, n int) *refs.Object {
	t.Helper()
	id, waits, err := x.Ahead(own.ID, n)
	o := objects.Find(id)
	if err != nil || o == nil || waits == o.State().Ready() {
		t.Fatalf("item %d ahead: object %v, it is not there: %v, %v", n, o, waits, err)
	}
	return o
}

func TestAhead_ItemsComeLater_ReferencesAreThoseOfTheItems(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, stream)
	var list []*refs.Object
	for n := range 4 {
		list = append(list, ahead(t, x, objects, own, n))
	}
	yields(x, objects, g, 3)
	for i, o := range list[:3] {
		if !o.State().Ready() || o != ahead(t, x, objects, own, i) {
			t.Errorf("the reference to item %d does not become the item's", i)
		}
	}
	if list[3].State().Ready() {
		t.Error("an item is there that was not yielded")
	}
	if take(t, x, objects, own) != 0 || ahead(t, x, objects, own, 0) != list[1] {
		t.Error("the next item after one was taken is not the second")
	}
	x.Ended(g, "g", stream, false)
	if codeOf(list[3]) != fault.EndOfStream || list[3].Pins() != 0 {
		t.Errorf("the item behind the last one: %v, %d pins", codeOf(list[3]), list[3].Pins())
	}
	objects.Complete(own, refs.Inline, nil, 0, false)
	if o := ahead(t, x, objects, own, 5); codeOf(o) != fault.EndOfStream || o.Pins() != 0 {
		t.Errorf("an item that was asked for after the end: %v, %d pins", codeOf(o), o.Pins())
	}
}

func TestAhead_TheRunFailed_ItemsHaveItsError(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, stream)
	objects.Fail(own, fault.New(fault.WorkerCrashed, "crashed"))
	x.Ended(g, "g", stream, false)
	if o := ahead(t, x, objects, own, 1); codeOf(o) != fault.WorkerCrashed {
		t.Errorf("an item that was asked for after the failure: %v", codeOf(o))
	}
}

func TestAhead_TheProgramLeaves_NoItemIsPinned(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, stream)
	list := []*refs.Object{ahead(t, x, objects, own, 0), ahead(t, x, objects, own, 3)}
	x.Leave(own.ID.Count())
	for _, o := range list {
		if o.Pins() != 0 {
			t.Errorf("item %s has %d pins after the program has left", o.ID, o.Pins())
		}
	}
	x.Ended(g, "g", stream, false)
	for _, o := range list {
		if codeOf(o) != fault.EndOfStream {
			t.Errorf("who waits for item %s is not told that it does not come: %v", o.ID, codeOf(o))
		}
	}
}

func TestAhead_WrongNumbers_AreRefused(t *testing.T) {
	x, objects := newTable()
	_, own := called(x, objects, stream)
	for _, n := range []int{-1, MaxAhead + 1, MaxItems} {
		if id, _, err := x.Ahead(own.ID, n); fault.CodeOf(err) != fault.BadRequest || id != (ids.Object{}) {
			t.Errorf("item %d ahead: %s, %v", n, id, err)
		}
	}
}
