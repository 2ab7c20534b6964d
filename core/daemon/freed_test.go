package daemon

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// Who has a freed object pinned is told, whenever it came to the pin; who freed it,
// drivers and the dead are not.
func TestObjects_Freed_WorkersThatPinItAreTold(t *testing.T) {
	tb, d := withDisk(1 << 20)
	owner, driver := &client{worker: &worker{}}, &client{}
	first, second, third := &client{worker: &worker{}}, &client{worker: &worker{}}, &client{worker: &worker{}}
	id := owned(1, 1)
	if err := create(tb, owner, id, 1000); err != nil {
		t.Fatal(err)
	}
	if err := tb.seal(owner, id); err != nil {
		t.Fatal(err)
	}
	var o outcome
	for _, c := range []*client{owner, driver, first} {
		tb.pin(c, id, o.done)
	}
	if len(d.toldFreed) != 0 {
		t.Fatalf("told before it was freed: %v", d.toldFreed)
	}
	tb.free(owner, id)
	tb.free(owner, id)
	if want := []holding{{first, id}}; !slices.Equal(d.toldFreed, want) {
		t.Errorf("told: %v", d.toldFreed)
	}
	if got := tb.lacks([][]byte{id[:]}); len(got) != 1 {
		t.Error("its owner is told that it has what it has freed")
	}
	tb.pin(second, id, o.done) // it is still there
	if want := []holding{{first, id}, {second, id}}; !slices.Equal(d.toldFreed, want) {
		t.Errorf("told after a later pin: %v", d.toldFreed)
	}
	third.gone = true
	tb.tellFreed(third, tb.table[id])
	for _, c := range []*client{owner, driver, first, second} {
		tb.unpin(c, id)
	}
	if len(d.toldFreed) != 2 || len(tb.table) != 0 || tb.used != 0 || o.n != 4 {
		t.Errorf("%d told, %d objects left, %d bytes, %d answers", len(d.toldFreed), len(tb.table), tb.used, o.n)
	}
}

// The answer to a question for many comes after what is told of each, so none of a freed
// object is given there: asked for alone, the worker hears of the end after the answer.
func TestObjects_FreedAmongMany_IsAskedForAlone(t *testing.T) {
	tb, d := withDisk(1 << 20)
	owner, first, second := &client{}, &client{worker: &worker{}}, &client{worker: &worker{}}
	for n := range uint64(2) {
		if err := create(tb, owner, owned(1, n), 1000); err != nil {
			t.Fatal(err)
		}
		if err := tb.seal(owner, owned(1, n)); err != nil {
			t.Fatal(err)
		}
	}
	both := []ids.Object{owned(1, 0), owned(1, 1)}
	if r := tb.pinMany(first, both); !slices.Equal(r.Which, []uint32{0, 1}) {
		t.Fatalf("places of %v", r.Which)
	}
	tb.free(owner, both[0])
	if r := tb.pinMany(second, both); !slices.Equal(r.Which, []uint32{1}) || tb.table[both[0]].pins != 1 {
		t.Errorf("places of %v", r.Which)
	}
	if want := []holding{{first, both[0]}}; !slices.Equal(d.toldFreed, want) {
		t.Errorf("told: %v", d.toldFreed)
	}
}

// An owner that ends frees all that it had, and a copy that is written anew frees the old one.
func TestObjects_OwnerGoneOrWrittenAnew_WorkersAreTold(t *testing.T) {
	tb, d := withDisk(1 << 20)
	owner, reader := &client{worker: &worker{}}, &client{worker: &worker{}}
	var o outcome
	for n := range uint64(2) {
		if err := create(tb, owner, owned(1, n), 1000); err != nil {
			t.Fatal(err)
		}
		if err := tb.seal(owner, owned(1, n)); err != nil {
			t.Fatal(err)
		}
		tb.pin(reader, owned(1, n), o.done)
	}
	tb.supersede(owner, owned(1, 0))
	if want := []holding{{reader, owned(1, 0)}}; !slices.Equal(d.toldFreed, want) {
		t.Errorf("told: %v", d.toldFreed)
	}
	owner.gone = true
	tb.dropClient(owner, ids.Owner{1})
	if want := []holding{{reader, owned(1, 0)}, {reader, owned(1, 1)}}; !slices.Equal(d.toldFreed, want) {
		t.Errorf("told: %v", d.toldFreed)
	}
}
