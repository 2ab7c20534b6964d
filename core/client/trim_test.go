package client

import (
	"bytes"
	"os"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/store"
)

// A process keeps the pages of what its program looks at, and no others of the arena.
func TestTrimArena_LetsGoOfWhatNobodyLooksAt(t *testing.T) {
	const size = 4 << 20
	const most = size - 2*pageSize // the ends share pages with others
	d := startDaemon(t)
	c := d.driver()
	open := func() (ids.Object, *Found, []byte) {
		t.Helper()
		id, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{bytes.Repeat([]byte("0123456789abcdef"), size/16)}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.Get(id, testLimit)
		if err != nil || f == nil || f.View == 0 {
			t.Fatal(f, err)
		}
		e, err := store.Parse(f.Envelope)
		if err != nil || len(e.Bufs) != 1 {
			t.Fatal(err)
		}
		return id, f, e.Bufs[0]
	}
	_, _, kept := open()
	id, left, passed := open()
	touch(kept)
	touch(passed)
	if n := min(mapped(t, kept), mapped(t, passed)); n < most {
		t.Fatalf("%d of %d bytes that were just read are mapped", n, most)
	}
	c.Release(Drop{View: left.View})
	c.Release(Drop{Object: id})
	c.trimArena()
	if n := mapped(t, kept); n < most {
		t.Errorf("%d of %d bytes of the object in use are mapped", n, most)
	}
	if n := mapped(t, passed); n > 0 {
		t.Errorf("%d bytes of an object that nobody looks at are mapped", n)
	}
}

var sink byte

// touch reads a byte of each page.
func touch(b []byte) {
	for i := 0; i < len(b); i += pageSize {
		sink += b[i]
	}
}

const pageSize = 4096

// mapped is how many bytes of the whole pages of b are in this process's tables.
func mapped(t *testing.T, b []byte) (bytes int) {
	t.Helper()
	table, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	first, last := (start+pageSize-1)/pageSize, (start+uintptr(len(b)))/pageSize
	entries := make([]byte, 8*(last-first))
	if _, err := table.ReadAt(entries, int64(8*first)); err != nil {
		t.Fatal(err)
	}
	for i := 7; i < len(entries); i += 8 {
		if entries[i]&0x80 != 0 {
			bytes += pageSize
		}
	}
	return bytes
}
