package raftlog

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// The log has what a list has, whatever raft does with it, before and after it is opened again.
func TestLog_RandomUse_HasWhatAListHas(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		l := reopen(t, dir, nil)
		var want []*raft.Log
		version := seed
		next := uint64(1 + r.IntN(5))
		for step := range 120 {
			first, last := uint64(0), uint64(0)
			if len(want) > 0 {
				first, last = want[0].Index, want[len(want)-1].Index
			}
			switch k := r.IntN(12); {
			case k < 7:
				list := entries(next, next+uint64(r.IntN(6)), version)
				store(t, l, list)
				want = append(want, list...)
				next += uint64(len(list))
			case len(want) == 0:
			case k == 7: // raft has a snapshot
				n := r.IntN(len(want))
				if err := l.DeleteRange(first, first+uint64(n)); err != nil {
					t.Fatal(err)
				}
				want = want[n+1:]
			case k == 8: // another leader had other entries
				n := r.IntN(len(want))
				if err := l.DeleteRange(want[n].Index, last); err != nil {
					t.Fatal(err)
				}
				next, want, version = want[n].Index, want[:n], version+1
			case k == 9 && r.IntN(3) == 0: // a snapshot of another head replaces all
				if err := l.DeleteRange(first, last); err != nil {
					t.Fatal(err)
				}
				want, next = nil, next+uint64(r.IntN(50))
			default:
				l = reopen(t, dir, l)
				if got, _ := l.FirstIndex(); got < first && got != 0 { // old entries of a file that is still needed
					if err := l.DeleteRange(got, first-1); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := holds(l, want); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// reopen closes a log, if there is one, and opens a log alone, without what is around it in a state directory.
func reopen(t *testing.T, dir string, old *Log) *Log {
	t.Helper()
	if old != nil {
		if err := old.close(); err != nil {
			t.Fatal(err)
		}
	}
	o := small
	o.Disk = realDisk{}
	l, cut, err := openLog(dir, o, newGuard(dir))
	if err != nil || cut != "" {
		t.Fatalf("%v, cut %q", err, cut)
	}
	return l
}

func TestLog_OldEntries_GoWithTheirFiles(t *testing.T) {
	d := open(t, t.TempDir(), small)
	store(t, d.log, entries(1, 200, 0))
	store(t, d.log, entries(201, 203, 0))
	for i := uint64(204); i < 300; i++ {
		store(t, d.log, entries(i, i, 0))
	}
	before, _ := segmentsIn(d.log.dir)
	d.log.keeps = func() uint64 { return 250 } // the older snapshot
	if err := d.log.DeleteRange(1, 290); err != nil {
		t.Fatal(err)
	}
	if err := holds(d.log, entries(251, 299, 0)); err != nil {
		t.Error(err)
	}
	if after, _ := segmentsIn(d.log.dir); len(after) >= len(before)-2 || after[0] > 251 {
		t.Errorf("segments %v became %v", before, after)
	}
	if err := d.log.DeleteRange(252, 280); err == nil || !strings.Contains(err.Error(), "in the middle") {
		t.Errorf("deleted in the middle: %v", err)
	}
}

func TestLog_EntryThatDoesNotFollow_IsRefused(t *testing.T) {
	d := open(t, t.TempDir(), small)
	store(t, d.log, entries(5, 7, 0))
	for _, list := range [][]*raft.Log{entries(7, 7, 0), entries(9, 9, 0), {entryOf(8, 0), entryOf(10, 0)}, {{Index: 8, Data: make([]byte, maxEntry+1)}}, {{}}} {
		if err := d.log.StoreLogs(list); err == nil {
			t.Errorf("entry %d was stored", list[0].Index)
		}
	}
	store(t, d.log, entries(8, 8, 0)) // a refusal is no failure of the disk
	if err := holds(d.log, entries(5, 8, 0)); err != nil {
		t.Error(err)
	}
}

// A batch that is larger than a segment gets one of its own, and one that is larger than a batch may be is divided.
func TestLog_LargeEntries_AreKept(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, Options{Log: quiet})
	var list []*raft.Log
	for i := range uint64(5) {
		e := entryOf(i+1, 0)
		e.Data = make([]byte, 12<<20)
		e.Data[i] = 1
		list = append(list, e)
	}
	list = append(list, entryOf(6, 0))
	store(t, d.log, list)
	closed(t, d)
	d = open(t, dir, Options{Log: quiet})
	if err := holds(d.log, list); err != nil {
		t.Error(err)
	}
	if firsts, _ := segmentsIn(d.log.dir); len(firsts) < 3 {
		t.Errorf("60 MiB are in segments %v", firsts)
	}
}

func TestLog_ForeignFile_IsRefused(t *testing.T) {
	dir := t.TempDir()
	closed(t, open(t, dir, small))
	for _, name := range []string{"12.log", strings.Repeat("0", 20) + ".log", strings.Repeat("x", 20) + ".log"} {
		path := filepath.Join(dir, logName, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, small); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
