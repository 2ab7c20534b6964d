package nodestore

import (
	"bytes"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A process keeps the pages of what its program looks at, and no others of the arena.
func TestTrimUnused_LetsGoOfWhatNobodyLooksAt(t *testing.T) {
	const size = 4 << 20
	const most = size - 2*pageSize // the ends share pages with others
	n := newNode(t, Options{})
	if err := n.s.MapArena(); err != nil {
		t.Fatal(err)
	}
	places, next := map[ids.Object]wire.ObjPlace{}, uint64(1<<20)
	n.on(wire.TObjCreate, func(m *wire.Message) {
		var q wire.ObjCreate
		if err := m.Decode(&q); err != nil {
			t.Error(err)
		}
		at := wire.ObjPlace{Offset: next, Size: q.Size}
		places[ids.Object(q.ObjectID)], next = at, next+5<<20
		_ = m.Reply(at)
	})
	n.on(wire.TObjPin, func(m *wire.Message) {
		var q wire.ObjPin
		_ = m.Decode(&q)
		_ = m.Reply(places[ids.Object(q.ObjectID)])
	})
	open := func() (*refs.Object, Found, []byte) {
		t.Helper()
		n.mu.Lock()
		defer n.mu.Unlock()
		o := n.table.New(0, 1)
		v := envelope.Value{Fmt: uint8(store.FormatBytes), Bufs: [][]byte{bytes.Repeat([]byte("0123456789abcdef"), size/16)}}
		if err := n.s.PutLarge(o.ID, &v, v.Size()); err != nil {
			t.Fatal(err)
		}
		n.table.PutStored(o, uint64(v.Size()), false)
		f, err := n.s.Fetch(o, time.Time{})
		if err != nil || f.View == 0 {
			t.Fatal(f, err)
		}
		e, err := store.Parse(f.Envelope)
		if err != nil || len(e.Bufs) != 1 {
			t.Fatal(err)
		}
		return o, f, e.Bufs[0]
	}
	_, _, kept := open()
	o, left, passed := open()
	touch(kept)
	touch(passed)
	if n := min(mapped(t, kept), mapped(t, passed)); n < most {
		t.Fatalf("%d of %d bytes that were just read are mapped", n, most)
	}
	n.mu.Lock()
	n.s.Drop(left.View)
	n.table.Unref(o, 1)
	n.table.CarryOut()
	n.mu.Unlock()
	n.s.trimUnused()
	if n := mapped(t, kept); n < most {
		t.Errorf("%d of %d bytes of the object in use are mapped", n, most)
	}
	if n := mapped(t, passed); n > 0 {
		t.Errorf("%d bytes of an object that nobody looks at are mapped", n)
	}
}

// A program rests with the first two looks, and the arena is trimmed each minute from then on. A session that has ended
// sets no further timer.
func TestRestThen_ProgramRestsWhileTheSessionLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rested atomic.Int32
		n := newNode(t, Options{Rest: func() { rested.Add(1) }})
		n.mu.Lock()
		if err := n.s.MapArena(); err != nil {
			t.Fatal(err)
		}
		n.mu.Unlock()
		stopped := func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.s.trimmer.Stop()
		}
		for _, x := range []struct {
			after time.Duration
			rests int32
		}{{beginTrim - 1, 0}, {1, 1}, {sureTrim - 1, 1}, {1, 2}, {10 * trimEvery, 2}} {
			time.Sleep(x.after)
			if synctest.Wait(); rested.Load() != x.rests {
				t.Errorf("%v later it has rested %d times, want %d", x.after, rested.Load(), x.rests)
			}
		}
		n.mu.Lock()
		n.s.End(errors.New("over"))
		n.mu.Unlock()
		time.Sleep(2 * trimEvery)
		synctest.Wait()
		if stopped() {
			t.Error("a session that has ended is to trim again")
		}
		n.s.restThen(time.Hour, func() {})
		if rested.Load() != 3 || stopped() {
			t.Errorf("after its end it has rested %d times, or is to trim again", rested.Load())
		}
	})
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
