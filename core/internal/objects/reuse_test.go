package objects

import "testing"

// held makes an object that its creator has pinned.
func held(t *testing.T, tb *Table, c *proc, n uint64, size uint64) {
	t.Helper()
	if err := create(tb, c, owned(1, n), size); err != nil {
		t.Fatal(err)
	}
	if err := tb.SealPinned(c, owned(1, n)); err != nil {
		t.Fatal(err)
	}
}

func TestObjects_Reuse_NewObjectAtTheOldOnesPlace(t *testing.T) {
	tb, _ := withDisk(1 << 20)
	c := &proc{}
	held(t, tb, c, 1, 10_000)
	at := tb.table[owned(1, 1)].Off
	if err := tb.Reuse(c, owned(1, 1), owned(1, 2), 9_000); err != nil {
		t.Fatal(err)
	}
	o := tb.table[owned(1, 2)]
	if tb.table[owned(1, 1)] != nil || o == nil || o.Off != at || o.sealed || o.creator != c || tb.used != 9_000 || tb.pinned != 0 {
		t.Errorf("%+v, %d bytes used, %d pinned", o, tb.used, tb.pinned)
	}
	if err := tb.SealPinned(c, owned(1, 2)); err != nil {
		t.Fatal(err)
	}
	tb.Free(c, owned(1, 2))
	tb.Unpin(c, owned(1, 2))
	if len(tb.table) != 0 || tb.used != 0 || len(tb.at) != 0 {
		t.Errorf("left: %d objects, %d bytes", len(tb.table), tb.used)
	}
	if off, ok := tb.space.Alloc(1 << 20); !ok || off != 0 {
		t.Error("the arena is not whole")
	}
}

func TestObjects_Reuse_OnlyWhatOneProcessHasAlone(t *testing.T) {
	tb, _ := withDisk(1 << 20)
	c, other := &proc{}, &proc{}
	held(t, tb, c, 1, 10_000)
	for name, try := range map[string]func() error{
		"of another process":  func() error { return tb.Reuse(other, owned(1, 1), owned(1, 2), 10_000) },
		"larger":              func() error { return tb.Reuse(c, owned(1, 1), owned(1, 2), 10_001) },
		"unknown":             func() error { return tb.Reuse(c, owned(1, 7), owned(1, 2), 10) },
		"by one that is here": func() error { return tb.Reuse(c, owned(1, 1), owned(1, 1), 10) },
	} {
		if try() == nil {
			t.Errorf("%s: was taken", name)
		}
	}
	var o outcome
	tb.Pin(other, owned(1, 1), o.done)
	if tb.Reuse(c, owned(1, 1), owned(1, 2), 10) == nil {
		t.Error("pinned by another one: was taken")
	}
	tb.Unpin(other, owned(1, 1))
	tb.Unpin(c, owned(1, 1))
	if tb.Reuse(c, owned(1, 1), owned(1, 2), 10) == nil {
		t.Error("not pinned: was taken")
	}
	if len(tb.table) != 1 || tb.used != 10_000 {
		t.Errorf("%d objects, %d bytes", len(tb.table), tb.used)
	}
}
