package spill

import (
	"bytes"
	"sync/atomic"
	"testing"
)

// punches counts the parts of files that are given back.
type punches struct {
	Disk
	n atomic.Int32
}

func (p *punches) Punch(path string, off, size int64) error {
	p.n.Add(1)
	return p.Disk.Punch(path, off, size)
}

// While others are in its file, a large record's part is given back; the last
// one takes the file along, and nothing is done to a part of what is gone.
func TestRecord_Release_TheLastOneTakesTheFile(t *testing.T) {
	fs := &punches{}
	s := open(t, Options{FS: fs, Roots: []string{t.TempDir()}})
	rs, err := s.Write([]Item{item(1, noise(1, 2<<20)), item(2, noise(2, 2<<20)), item(3, noise(3, 100))})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int32{1, 1, 1} { // the second is the last, the third too small
		rs[[]int{0, 2, 1}[i]].Release()
		s.gone.Wait()
		if got := fs.n.Load(); got != want {
			t.Errorf("after %d releases %d parts were given back, want %d", i+1, got, want)
		}
	}
}

// A batch of more than one transfer passes the page cache by in several, and
// each object is where its record says.
func TestStore_Direct_SeveralTransfers_EachObjectComesBack(t *testing.T) {
	s := past(t, nil, t.TempDir())
	var items []Item
	for n := range uint64(7) {
		items = append(items, item(n, inPages(n, transfer/2+pageSize)))
	}
	rs, err := s.Write(items)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		if r == nil || !r.direct {
			t.Fatalf("object %d did not pass the page cache by", i)
		}
		into := newArena(t, len(items[i].Bytes))
		if err := r.Read(into); err != nil || !bytes.Equal(into.memory[:len(items[i].Bytes)], items[i].Bytes) {
			t.Errorf("object %d: %v", i, err)
		}
		r.Release()
	}
	s.gone.Wait()
}
