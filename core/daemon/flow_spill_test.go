package daemon_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/eagleray/eagleray/core/daemon"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

const part = 8 << 20

// write puts an object whose parts of 4 KiB begin with a number.
func (d *driver) write(n uint64) ids.Object {
	d.t.Helper()
	id := d.object()
	var at wire.ObjPlace
	d.call(wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: part}, &at)
	if at.Path != "" {
		d.t.Fatalf("object %d goes to the file %s", n, at.Path)
	}
	for off := at.Offset; off < at.Offset+part; off += 4096 {
		binary.LittleEndian.PutUint64(d.arena[off:], n)
	}
	d.push(wire.TObjSeal, wire.ObjRef{ObjectID: id[:]})
	d.push(wire.TObjUnpin, wire.ObjRef{ObjectID: id[:]})
	return id
}

// reads checks an object's bytes, wherever they are, and lets go of it.
func (d *driver) reads(id ids.Object, n uint64) {
	d.t.Helper()
	var at wire.ObjPlace
	d.call(wire.TObjPin, wire.ObjRef{ObjectID: id[:]}, &at)
	b := d.arena
	if at.Path != "" {
		var err error
		if b, err = os.ReadFile(at.Path); err != nil {
			d.t.Fatal(err)
		}
	}
	for off := at.Offset; off < at.Offset+part; off += 4096 {
		if got := binary.LittleEndian.Uint64(b[off:]); got != n {
			d.t.Fatalf("object %d has %d at %d", n, got, off-at.Offset)
		}
	}
	d.push(wire.TObjUnpin, wire.ObjRef{ObjectID: id[:]})
}

// Twice what the store holds goes to disk and comes back as it was; nothing stays.
func TestFlow_Spill_TwiceTheStore_ComesBackAsItWas(t *testing.T) {
	s := start(t, 1)
	d := s.driver(nil)
	var all []ids.Object
	var raw [][]byte
	for n := range uint64(24) {
		all = append(all, d.write(n+1))
		raw = append(raw, bytes.Clone(all[n][:]))
	}
	for _, i := range []int{0, 23, 7, 0, 12} {
		d.reads(all[i], uint64(i+1))
	}
	var lacks wire.ObjRefs
	stranger := d.object()
	d.call(wire.TObjCheck, wire.ObjRefs{ObjectIDs: append(raw, stranger[:])}, &lacks)
	if len(lacks.ObjectIDs) != 1 || !bytes.Equal(lacks.ObjectIDs[0], stranger[:]) {
		t.Errorf("the store lacks %d of 25 objects, want the one that nobody wrote", len(lacks.ObjectIDs))
	}
	if st := d.stats(); st.Objects != 24 || st.Used > st.Capacity {
		t.Errorf("the store is %+v", st)
	}
	d.push(wire.TObjFree, wire.ObjRefs{ObjectIDs: raw})
	eventually(t, "the store is empty", func() bool { st := d.stats(); return st.Objects == 0 && st.Used == 0 })
	eventually(t, "no file is left", func() bool {
		files, _ := filepath.Glob(s.dir + "/spill*/*/*")
		for _, f := range files {
			if st, err := os.Stat(f); err == nil && st.Mode().IsRegular() && st.Size() > 0 {
				return false
			}
		}
		return true
	})
}

// What is on disk and whose file somebody has deleted is lost, and only that is.
func TestFlow_Spill_Off_AFullStoreIsAnError(t *testing.T) {
	s := startWith(t, 1, func(o *daemon.Options) { o.Spill.Off = true })
	d := s.driver(nil)
	for n := range uint64(12) {
		d.write(n)
	}
	id := d.object()
	err := d.try(wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: part}, nil)
	wantCode(t, "a thirteenth of 8 MiB in 100", err, fault.StoreFull)
}

// A list is pinned by one question: what is there, by its place in the list.
func TestFlow_PinMany_WhatIsThere(t *testing.T) {
	s := start(t, 1)
	d := s.driver(nil)
	a, b, none := d.put(4096), d.put(8192), d.object()
	var got wire.ObjPlaces
	d.call(wire.TObjPins, wire.ObjRefs{ObjectIDs: [][]byte{none[:], b[:], a[:]}}, &got)
	if len(got.Which) != 2 || got.Which[0] != 1 || got.Which[1] != 2 || got.Sizes[0] != 8192 || got.Sizes[1] != 4096 || got.Offsets[0] == got.Offsets[1] {
		t.Errorf("got %+v", got)
	}
	wantCode(t, "too many", d.try(wire.TObjPins, wire.ObjRefs{ObjectIDs: make([][]byte, 10_001)}, nil), fault.BadRequest)
	wantCode(t, "no id", d.try(wire.TObjPins, wire.ObjRefs{ObjectIDs: [][]byte{{1}}}, nil), fault.BadRequest)
}
