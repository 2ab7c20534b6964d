package objects

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// replica puts an object that another node has, too, and lets go of it.
func replica(t *testing.T, tb *Table, c *proc, id ids.Object, size uint64) {
	t.Helper()
	tb.Create(c, id, size, func(_ Place, err error) {
		if err != nil {
			t.Fatal(err)
		}
	})
	if err := tb.SealReplica(c, id); err != nil {
		t.Fatal(err)
	}
	if tb.holders[c].pins[id] == nil {
		t.Error("whoever has brought it does not hold it")
	}
	tb.Unpin(c, id)
}

// Room comes from replicas first, the least recently used ones, and as many as are needed. They are not written to disk.
func TestReplicas_RoomIsNeeded_TheOldestGo(t *testing.T) {
	tb, d := withDisk(64 * mib)
	a, b := &proc{}, &proc{}
	put(t, tb, a, owned(1, 0), 4*mib)
	for n := range uint64(15) {
		replica(t, tb, b, owned(2, n), 4*mib)
	}
	var held outcome
	tb.Pin(a, owned(2, 0), held.done)
	one, two := put(t, tb, a, owned(1, 1), 4*mib), put(t, tb, a, owned(1, 2), 4*mib)
	d.settle()
	if one.n != 1 || one.err != nil || two.n != 1 || two.err != nil || d.copies != 0 {
		t.Fatalf("%+v, %+v, %d written", one, two, d.copies)
	}
	for n := range uint64(15) {
		if want := n != 1 && n != 2; tb.Has(owned(2, n)) != want {
			t.Errorf("replica %d is there: %v", n, !want)
		}
	}
	if !tb.Has(owned(1, 0)) || len(d.lost) != 0 || len(d.kept) != 0 {
		t.Errorf("lost %v, kept %v", d.lost, d.kept)
	}
	check(t, tb)
	checkLists(t, tb)
}

// A replica that may not go is written to disk like others. One that a process pins while the question is under way stays.
func TestReplicas_AnswerIsNo_IsWritten(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a, b := &proc{}, &proc{}
	for n := range uint64(4) {
		replica(t, tb, b, owned(2, n), mib)
	}
	d.mayDrop = func(id ids.Object) bool { return id != owned(2, 0) }
	late := put(t, tb, a, owned(1, 1), 2*mib)
	var held outcome
	tb.Pin(a, owned(2, 1), held.done)
	if held.n != 1 || held.err != nil {
		t.Fatal("a replica cannot be read while it is asked about")
	}
	d.settle()
	if late.n != 1 || late.err != nil {
		t.Fatal(late)
	}
	if !slices.Equal(d.kept, []ids.Object{owned(2, 1)}) || !tb.Has(owned(2, 1)) || !tb.table[owned(2, 1)].inArena {
		t.Errorf("kept %v", d.kept)
	}
	if !tb.Has(owned(2, 0)) || tb.table[owned(2, 0)].replica || d.copies != 1 && tb.table[owned(2, 0)].evicted {
		t.Errorf("the last copy is gone: %+v", tb.table[owned(2, 0)])
	}
	check(t, tb)
	checkLists(t, tb)
}

// The owner frees a replica while it is asked about: it goes, whatever the answer is.
func TestReplicas_FreedMeanwhile_Goes(t *testing.T) {
	for _, may := range []bool{true, false} {
		tb, d := withDisk(4 * mib)
		a, b := &proc{}, &proc{}
		for n := range uint64(4) {
			replica(t, tb, b, owned(2, n), mib)
		}
		d.mayDrop = func(ids.Object) bool { return may }
		late := put(t, tb, a, owned(1, 1), mib)
		tb.Free(nil, owned(2, 0))
		d.settle()
		if late.n != 1 || late.err != nil || tb.Has(owned(2, 0)) || len(d.kept) != 0 {
			t.Errorf("%v: %+v, kept %v", may, late, d.kept)
		}
		check(t, tb)
		checkLists(t, tb)
	}
}

// A promoted replica is an object like others: nobody is asked, and it is written.
func TestReplicas_Promoted_IsWritten(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a, b := &proc{}, &proc{}
	for n := range uint64(4) {
		replica(t, tb, b, owned(2, n), mib)
		tb.Promote(owned(2, n))
	}
	tb.Promote(owned(9, 9))
	d.mayDrop = func(id ids.Object) bool {
		t.Errorf("it is asked whether %s may go", id)
		return true
	}
	checkLists(t, tb)
	late := put(t, tb, a, owned(1, 1), mib)
	d.settle()
	if late.n != 1 || late.err != nil || d.copies == 0 || len(tb.table) != 5 {
		t.Errorf("%+v, %d written, %d objects", late, d.copies, len(tb.table))
	}
}

// A large request gets a range cleared of replicas. If one of them has to stay, another range is found.
func TestReplicas_LargeRequest_ClearsARange(t *testing.T) {
	for _, stays := range []bool{false, true} {
		tb, d := withDisk(16 * mib)
		a, b := &proc{}, &proc{}
		for n := range uint64(16) {
			replica(t, tb, b, owned(2, n), mib)
		}
		first := true
		d.mayDrop = func(ids.Object) bool {
			may := !first || !stays
			first = false
			return may
		}
		large := put(t, tb, a, owned(1, 1), 8*mib)
		d.settle()
		if large.n != 1 || large.err != nil || large.at.Path != "" {
			t.Errorf("stays %v: %+v", stays, large)
		}
		check(t, tb)
		checkLists(t, tb)
	}
}

// A question that is not answered holds nobody up for long.
func TestReplicas_NoAnswer_OthersAreWritten(t *testing.T) {
	tb, d := withDisk(8 * mib)
	a, b := &proc{}, &proc{}
	for n := range uint64(4) {
		replica(t, tb, b, owned(2, n), mib)
		put(t, tb, a, owned(1, n), mib)
	}
	late := put(t, tb, a, owned(3, 1), mib)
	if len(tb.questions) == 0 || late.n != 0 {
		t.Fatalf("%d questions, %+v", len(tb.questions), late)
	}
	hung := d.orders
	d.orders = nil
	for range 8 {
		d.pass(hangsAfter)
		d.settle()
	}
	if late.n != 1 || late.err != nil {
		t.Errorf("%+v", late)
	}
	d.orders = hung
	d.settle()
	check(t, tb)
	checkLists(t, tb)
}

// A session that writes nothing to disk drops replicas all the same.
func TestReplicas_NothingIsSpilled_AreDropped(t *testing.T) {
	tb, d := withDisk(4 * mib)
	tb.memoryOnly = true
	a, b := &proc{}, &proc{}
	for n := range uint64(4) {
		replica(t, tb, b, owned(2, n), mib)
	}
	late := put(t, tb, a, owned(1, 1), 2*mib)
	d.settle()
	if late.n != 1 || late.err != nil || d.copies != 0 {
		t.Errorf("%+v", late)
	}
}

// The store says what it loses, and only that.
func TestLost_IsToldOfWhatNobodyFreed(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a := &proc{}
	put(t, tb, a, owned(1, 1), mib)
	tb.Free(a, owned(1, 1))
	tb.Create(a, owned(1, 2), mib, func(Place, error) {})
	tb.DropHolder(a, ids.Owner{9})
	if !slices.Equal(d.lost, []ids.Object{owned(1, 2)}) {
		t.Errorf("lost %v", d.lost)
	}
}
