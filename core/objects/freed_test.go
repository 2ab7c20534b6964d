package objects

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// Who has a freed object pinned is told, whenever it came to the pin; who freed it,
// drivers and the dead are not.
func TestObjects_Freed_WorkersThatPinItAreTold(t *testing.T) {
	tb, d := withDisk(1 << 20)
	owner, driver := &proc{worker: true}, &proc{}
	first, second, third := &proc{worker: true}, &proc{worker: true}, &proc{worker: true}
	id := owned(1, 1)
	if err := create(tb, owner, id, 1000); err != nil {
		t.Fatal(err)
	}
	if err := tb.Seal(owner, id); err != nil {
		t.Fatal(err)
	}
	var o outcome
	for _, c := range []*proc{owner, driver, first} {
		tb.Pin(c, id, o.done)
	}
	if len(d.toldFreed) != 0 {
		t.Fatalf("told before it was freed: %v", d.toldFreed)
	}
	tb.Free(owner, id)
	tb.Free(owner, id)
	if want := []holding{{first, id}}; !slices.Equal(d.toldFreed, want) {
		t.Errorf("told: %v", d.toldFreed)
	}
	if got := tb.Missing([][]byte{id[:]}); len(got) != 1 {
		t.Error("its owner is told that it has what it has freed")
	}
	tb.Pin(second, id, o.done) // it is still there
	if want := []holding{{first, id}, {second, id}}; !slices.Equal(d.toldFreed, want) {
		t.Errorf("told after a later pin: %v", d.toldFreed)
	}
	third.gone = true
	tb.tellFreed(third, tb.table[id])
	for _, c := range []*proc{owner, driver, first, second} {
		tb.Unpin(c, id)
	}
	if len(d.toldFreed) != 2 || len(tb.table) != 0 || tb.used != 0 || o.n != 4 {
		t.Errorf("%d told, %d objects left, %d bytes, %d answers", len(d.toldFreed), len(tb.table), tb.used, o.n)
	}
}

// The answer to a question for many comes after what is told of each, so none of a freed
// object is given there: asked for alone, the worker hears of the end after the answer.
func TestObjects_FreedAmongMany_IsAskedForAlone(t *testing.T) {
	tb, d := withDisk(1 << 20)
	owner, first, second := &proc{}, &proc{worker: true}, &proc{worker: true}
	for n := range uint64(2) {
		if err := create(tb, owner, owned(1, n), 1000); err != nil {
			t.Fatal(err)
		}
		if err := tb.Seal(owner, owned(1, n)); err != nil {
			t.Fatal(err)
		}
	}
	both := []ids.Object{owned(1, 0), owned(1, 1)}
	if r := tb.PinMany(first, both); !slices.Equal(r.Which, []uint32{0, 1}) {
		t.Fatalf("places of %v", r.Which)
	}
	tb.Free(owner, both[0])
	if r := tb.PinMany(second, both); !slices.Equal(r.Which, []uint32{1}) || tb.table[both[0]].pins != 1 {
		t.Errorf("places of %v", r.Which)
	}
	if want := []holding{{first, both[0]}}; !slices.Equal(d.toldFreed, want) {
		t.Errorf("told: %v", d.toldFreed)
	}
}

// An owner that ends frees all that it had, and a copy that is written anew frees the old one.
func TestObjects_OwnerGoneOrWrittenAnew_WorkersAreTold(t *testing.T) {
	tb, d := withDisk(1 << 20)
	owner, reader := &proc{worker: true}, &proc{worker: true}
	var o outcome
	for n := range uint64(2) {
		if err := create(tb, owner, owned(1, n), 1000); err != nil {
			t.Fatal(err)
		}
		if err := tb.Seal(owner, owned(1, n)); err != nil {
			t.Fatal(err)
		}
		tb.Pin(reader, owned(1, n), o.done)
	}
	tb.Supersede(owner, owned(1, 0))
	if want := []holding{{reader, owned(1, 0)}}; !slices.Equal(d.toldFreed, want) {
		t.Errorf("told: %v", d.toldFreed)
	}
	owner.gone = true
	tb.DropHolder(owner, ids.Owner{1})
	if want := []holding{{reader, owned(1, 0)}, {reader, owned(1, 1)}}; !slices.Equal(d.toldFreed, want) {
		t.Errorf("told: %v", d.toldFreed)
	}
}
