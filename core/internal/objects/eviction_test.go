package objects

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
)

func TestObjects_Full_OldestIdleGoesToDiskAndComesBack(t *testing.T) {
	tb, d := withDisk(8 * mib)
	a, b := &proc{}, &proc{}
	for n := range uint64(8) {
		if m := put(t, tb, a, owned(1, n), mib); m.n != 1 || m.err != nil {
			t.Fatal(m)
		}
	}
	var held outcome
	tb.Pin(b, owned(1, 0), held.done) // the oldest is in use
	late := put(t, tb, a, owned(1, 9), mib)
	if late.n != 0 || tb.waiting != 1 {
		t.Fatal("it did not wait")
	}
	d.settle()
	if late.n != 1 || late.err != nil {
		t.Fatal(late)
	}
	if o := tb.table[owned(1, 1)]; !o.evicted || o.where() != "spilled" {
		t.Errorf("the oldest idle object is %s", o.where())
	}
	if o := tb.table[owned(1, 0)]; o.where() != "arena" || o.disk != nil {
		t.Errorf("the one in use is %s", o.where())
	}
	var back outcome
	tb.Pin(b, owned(1, 1), back.done)
	if back.n != 0 {
		t.Fatal("it is not in memory")
	}
	d.settle()
	if back.n != 1 || back.err != nil || back.size != mib {
		t.Errorf("%+v", back)
	}
	for n := range uint64(10) {
		tb.Free(a, owned(1, n))
	}
	tb.Unpin(b, owned(1, 0))
	tb.Unpin(b, owned(1, 1))
	d.settle()
	if d.copies != 0 || len(tb.table) != 0 || tb.used != 0 || tb.onDisk != 0 {
		t.Errorf("left: %d copies, %d objects, %d bytes", d.copies, len(tb.table), tb.used)
	}
}

func TestObjects_CopyOnDiskIsDamaged_OnlyThatOneIsLost(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a := &proc{}
	for n := range uint64(12) {
		put(t, tb, a, owned(1, n), mib)
		d.settle()
	}
	d.lose = func() bool { return true }
	var got outcome
	tb.Pin(a, owned(1, 0), got.done)
	d.settle()
	if fault.CodeOf(got.err) != fault.ObjectLost || tb.table[owned(1, 0)] != nil {
		t.Errorf("%v", got.err)
	}
	d.lose = nil
	again := put(t, tb, a, owned(1, 0), mib) // computed again
	d.settle()
	var next outcome
	tb.Pin(a, owned(1, 1), next.done)
	d.settle()
	if again.err != nil || again.n != 1 || next.err != nil || next.n != 1 {
		t.Errorf("%+v, %+v", again, next)
	}
}

// withAllPinned is a table whose four objects fill the memory, and a process that has them pinned.
func withAllPinned(t *testing.T) (*Table, *fakeDisk, *proc) {
	t.Helper()
	tb, d := withDisk(4 * mib)
	a := &proc{}
	for n := range uint64(4) {
		put(t, tb, a, owned(1, n), mib)
		tb.Pin(a, owned(1, n), func(Place, uint64, error) {})
	}
	return tb, d, a
}

func TestObjects_AllPinned_FileStandsForMemory(t *testing.T) {
	tb, d, a := withAllPinned(t)
	m := put(t, tb, a, owned(1, 9), mib)
	if m.n != 0 {
		t.Fatal("there was no room")
	}
	if len(d.orders) != 0 || d.asked != 1 {
		t.Error("it did not wait for pins to go")
	}
	d.pass(tb.grace)
	d.settle()
	huge := put(t, tb, a, owned(1, 10), 100*mib) // larger than the arena: no reason to wait
	if len(d.orders) != 1 {
		t.Error("it waits for what cannot be")
	}
	d.settle()
	for _, x := range []*made{m, huge} {
		if x.err != nil || x.at.Path == "" {
			t.Errorf("%+v", x)
		}
	}
	if o := tb.table[owned(1, 10)]; o.where() != "file" {
		t.Error(o.where())
	}
	tb.Free(a, owned(1, 9))
	tb.Free(a, owned(1, 10))
	if len(d.files) != 0 || tb.files != 0 {
		t.Errorf("left: %v", d.files)
	}
}

func TestObjects_DiskFull_NewObjectsFailOldOnesStay(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a := &proc{}
	for n := range uint64(6) {
		put(t, tb, a, owned(1, n), mib)
		d.settle()
	}
	d.fail = func() error { return unix.ENOSPC }
	m := put(t, tb, a, owned(1, 7), 3*mib)
	d.settle()
	if fault.CodeOf(m.err) != fault.OutOfDisk || m.n != 1 {
		t.Fatalf("%+v", m)
	}
	for n := range uint64(6) {
		var got outcome
		tb.Pin(a, owned(1, n), got.done)
		d.settle()
		o := tb.table[owned(1, n)]
		compressed := o.disk != nil && !o.disk.(*fakeCopy).raw
		if got.n != 1 || got.err != nil && !(compressed && fault.CodeOf(got.err) == fault.OutOfDisk) {
			t.Errorf("object %d: %+v", n, got)
		}
		tb.Unpin(a, owned(1, n))
	}
	d.fail = nil
	for n := range uint64(6) {
		var got outcome
		tb.Pin(a, owned(1, n), got.done)
		d.settle()
		if got.n != 1 || got.err != nil {
			t.Errorf("with room again, object %d: %+v", n, got)
		}
		tb.Unpin(a, owned(1, n))
	}
}

func TestObjects_DiskBroken_StoreFullSaysWhy(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a := &proc{}
	for n := range uint64(4) {
		put(t, tb, a, owned(1, n), mib)
	}
	d.fail = func() error { return unix.EIO }
	m := put(t, tb, a, owned(1, 7), mib)
	d.settle()
	if fault.CodeOf(m.err) != fault.StoreFull || !strings.Contains(m.err.Error(), unix.EIO.Error()) || !strings.Contains(m.err.Error(), "4194304 bytes are used by 4 objects") {
		t.Errorf("%v", m.err)
	}
}

// TestObjects_NotCached_ComesBackToMemory: what passed the page cache by is not read where
// it lies while others can leave; when nothing can, it is.
func TestObjects_NotCached_ComesBackToMemory(t *testing.T) {
	for _, cached := range []bool{true, false} {
		tb, d := withDisk(4 * mib)
		a := &proc{}
		for n := range uint64(8) {
			put(t, tb, a, owned(1, n), mib)
			d.settle()
		}
		for _, o := range tb.table {
			if o.disk != nil {
				o.disk.(*fakeCopy).raw, o.disk.(*fakeCopy).cached = true, cached
			}
		}
		var far []uint64
		for n := range uint64(8) {
			if tb.table[owned(1, n)].evicted {
				far = append(far, n)
			}
		}
		for i, n := range far[:4] {
			d.pass(pressureFor + time.Second) // nothing is clean
			var got outcome
			tb.Pin(a, owned(1, n), got.done)
			d.settle()
			if o := tb.table[owned(1, n)]; got.err != nil || got.n != 1 || o.copy != cached && i > 0 {
				t.Errorf("cached %v: %+v, read on disk: %v", cached, got, o.copy)
			}
		}
		var last outcome
		tb.Pin(a, owned(1, far[len(far)-1]), last.done)
		d.settle()
		if o := tb.table[owned(1, far[len(far)-1])]; last.err != nil || !cached && len(far) > 4 && !o.copy {
			t.Errorf("all is in use: %+v, read on disk: %v", last, o.copy)
		}
	}
}
