package objects

import (
	"testing"
	"time"
)

// The objects in a claimed range are written in batches: as many as a batch
// may hold, no more, and a larger object alone.
func TestObjects_ClaimedRange_LeavesInBatches(t *testing.T) {
	for name, c := range map[string]struct {
		size    uint64 // of each object that is there
		request uint64
		batches int
		each    uint64
	}{
		"a batch is full with the fourth": {16 * mib, 128 * mib, 2, 64 * mib},
		"two together are too large":      {33 * mib, 132 * mib, 4, 33 * mib},
		"one alone is too large":          {80 * mib, 160 * mib, 2, 80 * mib},
	} {
		capacity := (c.request / c.size) * c.size
		tb, d := withDisk(capacity)
		tb.writeAheadFrom = capacity // nothing is written before it has to be
		a := &proc{}
		for n := range capacity / c.size {
			put(t, tb, a, owned(1, n), c.size)
		}
		m := put(t, tb, a, owned(1, 99), c.request)
		if len(tb.batches) != c.batches || len(d.orders) != c.batches {
			t.Errorf("%s: %d batches and %d orders, want %d", name, len(tb.batches), len(d.orders), c.batches)
		}
		for b := range tb.batches {
			if b.bytes != c.each || uint64(len(b.objects)) != c.each/c.size {
				t.Errorf("%s: a batch has %d objects of %d bytes together, want %d bytes", name, len(b.objects), b.bytes, c.each)
			}
		}
		d.settle()
		if m.n != 1 || m.err != nil || tb.used != c.request {
			t.Errorf("%s: the request got %+v, %d bytes are used", name, m, tb.used)
		}
	}
}

// spilledOne returns a table whose arena is full of objects that a has pinned,
// and the id of an object that is on disk only.
func spilledOne(t *testing.T) (*Table, *fakeDisk, *proc) {
	t.Helper()
	tb, d := withDisk(4 * mib)
	a := &proc{}
	put(t, tb, a, owned(1, 0), mib)
	for n := uint64(1); n < 5; n++ {
		put(t, tb, a, owned(1, n), mib)
		d.settle()
		tb.Pin(a, owned(1, n), func(Place, uint64, error) {})
	}
	o := tb.table[owned(1, 0)]
	if !o.evicted {
		t.Fatalf("the oldest object is in %s", o.where())
	}
	o.wanted = true // it is wanted in memory
	return tb, d, a
}

// A process that waits for an object to come back from disk ends. The object is
// as before then, and the next process that wants it gets it.
func TestObjects_ReaderEndsWhileItWaits_ObjectStaysReadable(t *testing.T) {
	tb, d, a := spilledOne(t)
	b, c := &proc{}, &proc{}
	var first, second outcome
	tb.Pin(b, owned(1, 0), first.done)
	if tb.waiting != 1 {
		t.Fatalf("%d requests wait", tb.waiting)
	}
	b.gone = true
	tb.DropHolder(b, owned(2, 0).Owner())
	if tb.waiting != 0 || len(tb.byHolder)+len(tb.turns) != 0 {
		t.Fatalf("%d requests of %d processes are left", tb.waiting, len(tb.byHolder))
	}
	tb.Unpin(a, owned(1, 1))
	tb.Pin(c, owned(1, 0), second.done)
	d.settle()
	if first.n != 0 || second.n != 1 || second.err != nil {
		t.Errorf("the first process got %+v, the second %+v", first, second)
	}
}

// What two processes wait for still comes when the first of them ends. Once the
// object was freed and both have ended, nothing of it is left.
func TestObjects_OneOfTwoReadersEnds_OtherIsServed(t *testing.T) {
	for _, freed := range []bool{false, true} {
		tb, d, a := spilledOne(t)
		b, c := &proc{}, &proc{}
		var first, second outcome
		tb.Pin(b, owned(1, 0), first.done)
		tb.Pin(c, owned(1, 0), second.done)
		b.gone = true
		tb.DropHolder(b, owned(2, 0).Owner())
		if tb.waiting != 1 || len(tb.byHolder[c]) != 1 {
			t.Fatalf("%d requests wait", tb.waiting)
		}
		if freed {
			tb.Free(a, owned(1, 0))
			c.gone = true
			tb.DropHolder(c, owned(3, 0).Owner())
			d.settle()
			if tb.table[owned(1, 0)] != nil || second.n != 0 || tb.onDisk != 0 {
				t.Errorf("a freed object is kept for processes that have ended: %+v", tb.named())
			}
			continue
		}
		tb.Unpin(a, owned(1, 1))
		d.settle()
		if first.n != 0 || second.n != 1 || second.err != nil {
			t.Errorf("the process that has ended got %+v, the other %+v", first, second)
		}
	}
}

// While a request waits, the table looks again and again; with the last request
// it stops.
func TestObjects_Waiting_LooksAgainUntilServed(t *testing.T) {
	tb, d, a := withAllPinned(t)
	tb.grace = 2 * warnAfter
	m := put(t, tb, a, owned(1, 9), mib)
	for len(d.said) == 0 && m.n == 0 {
		if len(d.wakes) == 0 {
			t.Fatal("nothing looks again")
		}
		d.pass(lookEvery)
	}
	if m.n != 0 {
		t.Fatalf("the request got %+v", m)
	}
	tb.Unpin(a, owned(1, 0))
	d.settle()
	if m.n != 1 || m.err != nil {
		t.Errorf("the request got %+v", m)
	}
	d.pass(time.Hour)
	if len(d.wakes) != 0 {
		t.Error("the table looks on although nothing waits")
	}
}
