package objects

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// Processes that have a freed object pinned are told, the process that freed it and dead
// ones excepted. Who asks for the object afterwards does not get it.
func TestObjects_Freed_ProcessesThatPinItAreTold(t *testing.T) {
	tb, d := withDisk(1 << 20)
	owner, driver := &proc{}, &proc{}
	first, second, third := &proc{}, &proc{}, &proc{}
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
	if len(d.toldFreed) != 2 || !slices.Contains(d.toldFreed, holding{first, id}) || !slices.Contains(d.toldFreed, holding{driver, id}) {
		t.Errorf("told: %v", d.toldFreed)
	}
	if got := tb.Missing([][]byte{id[:]}); len(got) != 1 {
		t.Error("its owner is told that it has what it has freed")
	}
	tb.Pin(second, id, o.done)
	if fault.CodeOf(o.err) != fault.ObjectLost || len(d.toldFreed) != 2 {
		t.Errorf("a later pin: %v, told %v", o.err, d.toldFreed)
	}
	third.gone = true
	tb.tellFreed(third, tb.table[id])
	for _, c := range []*proc{owner, driver, first} {
		tb.Unpin(c, id)
	}
	if len(d.toldFreed) != 2 || len(tb.table) != 0 || tb.used != 0 || o.n != 4 {
		t.Errorf("%d told, %d objects left, %d bytes, %d answers", len(d.toldFreed), len(tb.table), tb.used, o.n)
	}
}

// Of a freed object a question for many gives no place: the process asks for it alone and is told why.
func TestObjects_FreedAmongMany_IsNotPinned(t *testing.T) {
	tb, d := withDisk(1 << 20)
	owner, first, second := &proc{}, &proc{}, &proc{}
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
	owner, reader := &proc{}, &proc{}
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

// An object that is freed while it is being written is given to the readers that asked for it
// before the end of the writing, and they hear right after the answer that it was freed.
func TestObjects_FreedWhileWritten_ReadersThatWaitAreAnsweredAndTold(t *testing.T) {
	tb, d := withDisk(1 << 20)
	writer, early, late := &proc{}, &proc{}, &proc{}
	id := owned(1, 1)
	if err := create(tb, writer, id, 1000); err != nil {
		t.Fatal(err)
	}
	var o, after outcome
	tb.Free(&proc{}, id) // its owner, which is another process
	tb.Pin(early, id, o.done)
	if err := tb.Seal(writer, id); err != nil {
		t.Fatal(err)
	}
	if want := []holding{{early, id}}; o.n != 1 || o.err != nil || !slices.Equal(d.toldFreed, want) {
		t.Errorf("%+v, told: %v", o, d.toldFreed)
	}
	tb.Pin(late, id, after.done)
	if fault.CodeOf(after.err) != fault.ObjectLost {
		t.Errorf("%+v", after)
	}
	tb.Unpin(early, id)
	if len(tb.table) != 0 || tb.used != 0 {
		t.Errorf("left: %d objects, %d bytes", len(tb.table), tb.used)
	}
}
