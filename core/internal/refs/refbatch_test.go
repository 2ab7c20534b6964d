package refs

import (
	"runtime"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/eagleray/eagleray/core/ids"
)

// programHalf is the program's half of a batch.
type programHalf struct {
	number uint64
	dead   []uint64
	told   uint32
	freed  int
}

// takesAll imports the references of a value as a batch. The owners have registered them.
func takesAll(t *testing.T, b *Table, value []byte, n int) *programHalf {
	t.Helper()
	v, err := ReadRefs(value)
	if err != nil {
		t.Fatal(err)
	}
	h := &programHalf{dead: make([]uint64, (n+63)/64)}
	h.number, err = b.ImportBatch(v, 0, Batch{Dead: h.dead, Told: &h.told, Free: func() { h.freed++ }})
	if err != nil {
		t.Fatal(err)
	}
	b.Registered(b.Unregistered())
	return h
}

// letsGo lets go of one reference and has the table told.
func (h *programHalf) letsGo(b *Table, i int) {
	h.dead[i/64] |= 1 << (i % 64)
	atomic.StoreUint32(&h.told, 1)
	b.dropFromBatch(h.number, false)
}

// valueWith is a value of another process with n references inside, and their ids.
func valueWith(t *testing.T, n int) (value []byte, list []ids.Object) {
	t.Helper()
	owner := NewTable(ids.NewWorkerOn(1).Owner(), ids.JobOf(1), "owner", new(recorder))
	var inner []*ids.Object
	for range n {
		o := owner.New(0, 1)
		list = append(list, o.ID)
		inner = append(inner, &o.ID)
	}
	value, err := owner.WriteRefs(inner)
	if err != nil {
		t.Fatal(err)
	}
	return value, list
}

// What a batch of an ended session holds is let go of, also by the collector, while the program still holds its
// half. The half is given back after the last drop only. Batches of other sessions stay as they are.
func TestLeaveBatches_SessionEnds_ItsBatchHoldsNothingAndOthersStay(t *testing.T) {
	const n = 70 // more than one word of bits
	before := Batches()
	value, list := valueWith(t, n)
	stays, _ := recorded()
	other := takesAll(t, stays, value, n)
	// The ended session's table and its objects are reachable from the batch only when this function has returned.
	left, ended, object := func() (*programHalf, weak.Pointer[Table], weak.Pointer[Object]) {
		ends, _ := recorded()
		h := takesAll(t, ends, value, n)
		o := ends.Find(list[3])
		ends.LeaveBatches()
		h.letsGo(ends, 3)
		if o.local != 1 || ends.Find(list[3]) != o {
			t.Errorf("a drop after the end of the session changes its table: the object has %d references", o.local)
		}
		if h.told == 0 {
			t.Error("a batch that its session has left is looked at")
		}
		return h, weak.Make(ends), weak.Make(o)
	}()
	for range 3 { // a collection that was under way may have seen them in a register
		runtime.GC()
	}
	if ended.Value() != nil || object.Value() != nil {
		t.Errorf("the batch keeps the table of the ended session: %v, an object of it: %v", ended.Value() != nil, object.Value() != nil)
	}
	if Batches() != before+2 || left.freed != 0 {
		t.Errorf("%d batches are left, want %d, and the program's half is given back %d times before its last drop", Batches()-before, 2, left.freed)
	}
	other.letsGo(stays, 3)
	if o := stays.Find(list[3]); o != nil && o.local != 0 {
		t.Errorf("the other session's object has %d references, want none", o.local)
	}
	if o := stays.Find(list[4]); o == nil || o.local != 1 {
		t.Errorf("a reference that the other session holds: %+v", o)
	}
	next, _ := recorded() // the program's next session hears of the last drop
	next.dropFromBatch(left.number, true)
	for i := range other.dead {
		other.dead[i] = ^uint64(0) >> max(0, 64*(i+1)-n)
	}
	stays.dropFromBatch(other.number, true)
	if left.freed != 1 || other.freed != 1 || Batches() != before {
		t.Errorf("the halves are given back %d and %d times, %d batches are left", left.freed, other.freed, Batches()-before)
	}
	if owned, borrowed := stays.Len(); owned+borrowed != 0 {
		t.Errorf("the other session holds %d objects of its own and %d of others", owned, borrowed)
	}
}

// A batch that its session has left and whose program has no other session is given back by its last drop.
func TestDropOrphanBatch_NoSession_HalfIsGivenBackOnce(t *testing.T) {
	before := Batches()
	value, _ := valueWith(t, 2)
	b, _ := recorded()
	h := takesAll(t, b, value, 2)
	b.LeaveBatches()
	var id ids.Object
	for i := range 8 {
		id[i] = byte(h.number >> (56 - 8*i))
	}
	DropOrphanBatch(Drop{Object: id, View: DropSome})
	if h.freed != 0 || Batches() != before+1 {
		t.Errorf("a drop that is not the last: given back %d times, %d batches are left", h.freed, Batches()-before)
	}
	for range 2 {
		DropOrphanBatch(Drop{Object: id, View: DropLast})
	}
	if h.freed != 1 || Batches() != before {
		t.Errorf("the last drop: given back %d times, %d batches are left", h.freed, Batches()-before)
	}
}
