package objects

import "testing"

// Objects that are only on disk and whose file is gone are missing, and the table
// forgets them.
func TestCheck_FileIsGone_ObjectIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		gone    bool
		busy    int32
		missing int
	}{
		"the file is there":                   {false, 0, 0},
		"the file is gone":                    {true, 0, 1},
		"the last question that may look":     {true, diskChecks - 1, 1},
		"too many questions look at the disk": {true, diskChecks, 0},
	} {
		o := quietStore(t, 1<<20)
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		id := owned(1, 1)
		s.table[id] = &object{id: id, sealed: true, evicted: true, disk: &missingFile{gone: c.gone}}
		s.checks.Store(c.busy)
		answered := make(chan [][]byte, 2)
		o.Lock.Lock()
		s.Check([][]byte{id[:]}, func(missing [][]byte) { answered <- missing })
		o.Lock.Unlock()
		if missing := <-answered; len(missing) != c.missing {
			t.Errorf("%s: %d objects are missing, want %d", name, len(missing), c.missing)
		}
		s.Close()
	}
}

type missingFile struct {
	fakeCopy
	gone bool
}

func (m *missingFile) Gone() bool { return m.gone }
func (m *missingFile) Release()   {}

func TestOnlyOnDisk_WhatNobodyReads(t *testing.T) {
	tb, d := withDisk(16 * mib)
	id := func(n uint64) []byte { o := owned(1, n); return o[:] }
	tb.table[owned(1, 1)] = &object{evicted: true, disk: &fakeCopy{d: d}}
	tb.table[owned(1, 2)] = &object{evicted: true, pins: 1}
	tb.table[owned(1, 3)] = &object{}
	tb.table[owned(1, 4)] = &object{evicted: true, moving: spilling}
	got := tb.onlyOnDisk([][]byte{id(3), id(1), id(2), id(4), id(9), {1}})
	if len(got) != 1 || got[0].o != tb.table[owned(1, 1)] || got[0].copy == nil {
		t.Errorf("got %+v", got)
	}
}
