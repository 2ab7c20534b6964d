package spill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// arena is memory that can be read into directly.
type arena struct {
	memory
	t     *testing.T
	given bool
}

func (a *arena) Pages(size uint64) ([]byte, bool) {
	if uint64(len(a.memory)) < size {
		a.t.Fatalf("%d bytes are asked for, of %d", size, len(a.memory))
	}
	a.given = true
	return a.memory[:pages(int64(size))], true
}

func newArena(t *testing.T, size int) *arena {
	return &arena{memory: alignedPages(int(pages(int64(size)))), t: t}
}

// inPages is noise as it lies in an arena.
func inPages(seed uint64, n int) []byte {
	b := alignedPages(int(pages(int64(n))))[:n]
	copy(b, noise(seed, n))
	return b
}

// past opens a Store whose objects pass the page cache by, or skips.
func past(t *testing.T, fs FS, roots ...string) *Store {
	t.Helper()
	s := open(t, Options{Cache: func() uint64 { return 0 }, FS: fs, Roots: roots})
	probe, err := os.Create(s.Dirs()[0] + "/probe")
	if err != nil {
		t.Fatal(err)
	}
	probe.Close()
	f, err := Disk{}.Direct(probe.Name(), true)
	if err != nil {
		t.Skipf("this file system has no direct transfers: %v", err)
	}
	f.Close()
	return s
}

var directSizes = []int{bypassFrom, bypassFrom + 1, 3*bypassFrom - 1, 1 << 20, 5*pageSize*16 + 4095, 2*transfer + 77}

func TestStore_Direct_RestoresWhatItWrote(t *testing.T) {
	s := past(t, nil)
	var items []Item
	for i, n := range directSizes {
		items = append(items, item(uint64(3*i), inPages(uint64(i), n)),
			item(uint64(3*i+1), noise(uint64(i), 700)), // too small
			item(uint64(3*i+2), text(n)))               // compressed
	}
	unaligned := alignedPages(bypassFrom + pageSize)[64:]
	copy(unaligned, noise(9, len(unaligned)))
	items = append(items, item(99, unaligned))
	rs, err := s.Write(items)
	if err != nil {
		t.Fatal(err)
	}
	cached := uint64(0)
	for i, r := range rs {
		want := items[i].Bytes
		if passed := i%3 == 0 && i < 3*len(directSizes); r.direct != passed || r.Cached() == passed {
			t.Errorf("object %d of %d bytes passed the page cache: %v", i, len(want), r.direct)
		}
		if r.Cached() {
			cached += r.Stored()
		} else if path, off, ok := r.Raw(); !ok || path != r.Path() || off%pageSize != 0 {
			t.Errorf("object %d lies at %d", i, off)
		}
		into := newArena(t, len(want))
		if err := r.Read(into); err != nil || !bytes.Equal(into.memory[:len(want)], want) || into.given != r.direct {
			t.Errorf("object %d of %d bytes, into memory (given %v): %v", i, len(want), into.given, err)
		}
		plain := make(memory, len(want)) // as into a file
		if err := r.Read(plain); err != nil || !bytes.Equal(plain, want) {
			t.Errorf("object %d of %d bytes: %v", i, len(want), err)
		}
	}
	if got := uint64(s.cached.Load()); got != cached {
		t.Errorf("%d bytes are said to be in the page cache, of %d", got, cached)
	}
	for i, r := range rs {
		if i%2 == 0 {
			r.Release()
		}
	}
	s.gone.Wait()
	for i, r := range rs { // what was given back took nothing of its neighbours
		if i%2 == 0 {
			continue
		}
		into := newArena(t, int(r.Size()))
		if err := r.Read(into); err != nil || !bytes.Equal(into.memory[:r.Size()], items[i].Bytes) {
			t.Errorf("object %d after its neighbours went: %v", i, err)
		}
		r.Release()
	}
	s.gone.Wait()
	if _, err := os.Stat(rs[0].Path()); !errors.Is(err, os.ErrNotExist) || s.cached.Load() != 0 {
		t.Errorf("the file: %v; %d bytes are still said to be in the page cache", err, s.cached.Load())
	}
}

// TestStore_Direct_OnlyBeyondTheCachesShare: and again through it when there is room.
func TestStore_Direct_OnlyBeyondTheCachesShare(t *testing.T) {
	s := past(t, nil)
	s.cache = func() uint64 { return 2 << 20 }
	write := func(n uint64) *Record {
		t.Helper()
		rs, err := s.Write([]Item{item(n, inPages(n, 1<<20))})
		if err != nil {
			t.Fatal(err)
		}
		return rs[0]
	}
	a, b, c := write(1), write(2), write(3)
	if a.direct || b.direct || !c.direct {
		t.Errorf("past the page cache: %v %v %v", a.direct, b.direct, c.direct)
	}
	c.Release()
	if d := write(4); !d.direct {
		t.Error("what had passed it by made room in it")
	}
	a.Release()
	if e := write(5); e.direct {
		t.Error("it was passed by while there was room")
	}
}

func TestRecord_Direct_DamagedOrCut_IsNoticed(t *testing.T) {
	s := past(t, nil)
	size := 3*bypassFrom - 1000
	rs, err := s.Write([]Item{item(1, inPages(1, bypassFrom)), item(2, inPages(2, size))})
	if err != nil {
		t.Fatal(err)
	}
	r := rs[1]
	whole, err := os.ReadFile(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	end := int(r.at) + headerSize + size
	damaged := func(what string, file []byte) {
		t.Helper()
		if err := os.WriteFile(r.Path(), file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := r.Read(newArena(t, size)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
		if err := rs[0].Read(newArena(t, bypassFrom)); err != nil {
			t.Errorf("%s: the other object: %v", what, err)
		}
	}
	for _, at := range []int{int(r.at), int(r.at) + 9, int(r.at) + 59, int(r.at) + headerSize, end - size/2, end - 1} {
		file := bytes.Clone(whole)
		file[at] ^= 1 << (at % 8)
		damaged(fmt.Sprintf("byte %d of the record", at-int(r.at)), file)
	}
	for _, at := range []int{int(r.at) - 1, int(r.at) + 10, int(r.at) + headerSize, int(r.at) + headerSize + pageSize, end - pageSize - 5, end - 1} {
		damaged(fmt.Sprintf("cut at %d", at), whole[:at])
	}
	if err := os.Remove(r.Path()); err != nil {
		t.Fatal(err)
	}
	if err := r.Read(newArena(t, size)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without its file: %v", err)
	}
}

// odd is a file system whose direct transfers go wrong.
type odd struct {
	Disk
	open  func(path string, write bool) error
	short int   // at most so many bytes of a transfer are moved; 0: all
	fail  error // of transfers
}

type oddFile struct {
	DirectFile
	fs *odd
}

func (o *odd) Direct(path string, write bool) (DirectFile, error) {
	if o.open != nil {
		if err := o.open(path, write); err != nil {
			return nil, err
		}
	}
	f, err := o.Disk.Direct(path, write)
	return oddFile{f, o}, err
}

func (f oddFile) cut(bufs [][]byte) [][]byte {
	if f.fs.short == 0 {
		return bufs
	}
	return [][]byte{bufs[0][:min(f.fs.short, len(bufs[0]))]}
}

func (f oddFile) Readv(to [][]byte, at int64) (int, error) {
	if f.fs.fail != nil {
		return 0, f.fs.fail
	}
	return f.DirectFile.Readv(f.cut(to), at)
}

func (f oddFile) Writev(from [][]byte, at int64) (int, error) {
	if f.fs.fail != nil {
		return 0, f.fs.fail
	}
	return f.DirectFile.Writev(f.cut(from), at)
}

// TestStore_Direct_Refused_PageCacheTakesIt: at the opening, at a transfer, at the restore only.
func TestStore_Direct_Refused_PageCacheTakesIt(t *testing.T) {
	no := func(string, bool) error { return &os.PathError{Op: "open", Path: "it", Err: unix.EINVAL} }
	for name, fs := range map[string]*odd{
		"open":           {open: no},
		"transfer":       {fail: unix.EOPNOTSUPP},
		"between blocks": {short: 100}, // what follows a part of a block is refused
	} {
		t.Run(name, func(t *testing.T) {
			s := past(t, fs)
			for round := range uint64(2) {
				want := []Item{item(2*round, inPages(1, bypassFrom+5)), item(2*round+1, inPages(2, 1<<20))}
				rs, err := s.Write(want)
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range rs {
					into := newArena(t, len(want[i].Bytes))
					if err := r.Read(into); err != nil || !bytes.Equal(into.memory[:r.Size()], want[i].Bytes) || r.direct {
						t.Errorf("object %d, past the page cache %v: %v", i, r.direct, err)
					}
				}
			}
			if !s.dirs[0].buffers.Load() {
				t.Error("each write tries again")
			}
		})
	}
	fs := &odd{}
	s := past(t, fs)
	want := inPages(3, 1<<20)
	rs, err := s.Write([]Item{item(1, want)})
	if err != nil || !rs[0].direct {
		t.Fatalf("%v, past the page cache %v", err, rs[0].direct)
	}
	for _, bad := range []odd{{open: no}, {fail: unix.EINVAL}, {short: 100}} {
		*fs = bad
		into := newArena(t, len(want))
		if err := rs[0].Read(into); err != nil || !bytes.Equal(into.memory, want) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// readsPast reads a record and checks that it went past the page cache.
func readsPast(t *testing.T, r *Record, want Item) {
	t.Helper()
	into := newArena(t, len(want.Bytes))
	if err := r.Read(into); err != nil || !bytes.Equal(into.memory[:r.Size()], want.Bytes) || !r.direct {
		t.Errorf("object %s, past the page cache %v: %v", want.ID, r.direct, err)
	}
}

// TestStore_Direct_MovedInParts: a transfer that the system cuts goes on where it stopped.
func TestStore_Direct_MovedInParts(t *testing.T) {
	s := past(t, &odd{short: 3 * pageSize})
	want := []Item{item(1, inPages(1, bypassFrom+5)), item(2, inPages(2, bypassFrom))}
	rs, err := s.Write(want)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		readsPast(t, r, want[i])
	}
}

// TestStore_Direct_DiskFullOrBroken_NextDirectoryIsUsed.
func TestStore_Direct_DiskFullOrBroken_NextDirectoryIsUsed(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, why := range []error{unix.ENOSPC, unix.EIO} {
		fs := &odd{open: func(path string, write bool) error {
			if write && strings.HasPrefix(path, a) {
				return why
			}
			return nil
		}}
		s := past(t, fs, a, b)
		for n := range uint64(4) {
			rs, err := s.Write([]Item{item(n, inPages(n, 1<<20))})
			if err != nil || !strings.HasPrefix(rs[0].Path(), b) || !rs[0].direct {
				t.Fatalf("%v: %v", why, err)
			}
		}
		s.gone.Wait() // the removal of the first file that failed changes bad, too
		fs.fail = why
		s.dirs[0].bad, s.dirs[1].bad = nil, nil
		rs, err := s.Write([]Item{item(9, inPages(9, 1<<20))})
		if !errors.Is(err, why) || IsFull(err) != (why == unix.ENOSPC) || rs[0] != nil {
			t.Errorf("both: %v", err)
		}
		s.gone.Wait()
		s.Close(closeLimit)
	}
}

// TestStore_Direct_ManyTransfers_NoGapBetweenThem: the records of a batch that takes several
// transfers lie one behind the other, and none of them goes through the page cache.
func TestStore_Direct_ManyTransfers_NoGapBetweenThem(t *testing.T) {
	s := past(t, nil)
	var want []Item
	for i := range 7 {
		want = append(want, item(uint64(i+1), inPages(uint64(i), transfer/2-pageSize+i)))
	}
	rs, err := s.Write(want)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		readsPast(t, r, want[i])
		if i == 0 {
			continue
		}
		before := rs[i-1]
		if end := before.at + headerSize + pages(int64(before.Size())); r.Path() != before.Path() || r.at+headerSize != end+pageSize {
			t.Errorf("object %d begins at %d, and the one before it ends at %d", i, r.at+headerSize, end)
		}
	}
}
