package daemon_test

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

const part = 8 << 20

// write puts an object whose parts of 4 KiB begin with a number.
func write(d *play.Driver, n uint64) ids.Object {
	d.T.Helper()
	id := d.Object()
	var at wire.ObjPlace
	d.Call(wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: part}, &at)
	if at.Path != "" {
		d.T.Fatalf("object %d goes to the file %s", n, at.Path)
	}
	for off := at.Offset; off < at.Offset+part; off += 4096 {
		binary.LittleEndian.PutUint64(d.Arena[off:], n)
	}
	d.Push(wire.TObjSeal, wire.ObjRef{ObjectID: id[:]})
	d.Push(wire.TObjUnpin, wire.ObjRef{ObjectID: id[:]})
	return id
}

// reads checks an object's bytes, wherever they are, and lets go of it.
func reads(d *play.Driver, id ids.Object, n uint64) {
	d.T.Helper()
	var at wire.ObjPlace
	d.Call(wire.TObjPin, wire.ObjPin{ObjectID: id[:]}, &at)
	b := d.Arena
	if at.Path != "" {
		var err error
		if b, err = os.ReadFile(at.Path); err != nil {
			d.T.Fatal(err)
		}
	}
	for off := at.Offset; off < at.Offset+part; off += 4096 {
		if got := binary.LittleEndian.Uint64(b[off:]); got != n {
			d.T.Fatalf("object %d has %d at %d", n, got, off-at.Offset)
		}
	}
	d.Push(wire.TObjUnpin, wire.ObjRef{ObjectID: id[:]})
}

// spilledFiles lists what a session has on disk of its objects.
func spilledFiles(t *testing.T, s *play.Session) (files []string) {
	t.Helper()
	dirs, err := os.ReadFile(filepath.Join(s.Dir, "spilled"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range strings.Fields(string(dirs)) {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				files = append(files, path)
			}
			return nil // what goes meanwhile is not there
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// startSpilled is a session whose driver has written twice what the store holds.
func startSpilled(t *testing.T) (s *play.Session, d *play.Driver, all []ids.Object, raw [][]byte) {
	t.Helper()
	s = play.Start(t, 1)
	d = s.Driver(nil)
	for n := range uint64(24) {
		all = append(all, write(d, n+1))
		raw = append(raw, bytes.Clone(all[n][:]))
	}
	return s, d, all, raw
}

// Twice what the store holds goes to disk and comes back as it was; nothing stays.
func TestFlow_Spill_TwiceTheStore_ComesBackAsItWas(t *testing.T) {
	s, d, all, raw := startSpilled(t)
	if len(spilledFiles(t, s)) == 0 {
		t.Error("nothing is on disk")
	}
	for _, i := range []int{0, 23, 7, 0, 12} {
		reads(d, all[i], uint64(i+1))
	}
	var lacks wire.ObjMissing
	stranger := d.Object()
	d.Call(wire.TObjCheck, wire.ObjRefs{ObjectIDs: append(raw, stranger[:])}, &lacks)
	if len(lacks.ObjectIDs) != 1 || !bytes.Equal(lacks.ObjectIDs[0], stranger[:]) {
		t.Errorf("the store lacks %d of 25 objects, want the one that nobody wrote", len(lacks.ObjectIDs))
	}
	if st := d.Stats(); st.Objects != 24 || st.Used > st.Capacity {
		t.Errorf("the store is %+v", st)
	}
	d.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: raw})
	play.Eventually(t, "the store is empty", func() bool { st := d.Stats(); return st.Objects == 0 && st.Used == 0 })
	play.Eventually(t, "no bytes are left on disk", func() bool {
		for _, f := range spilledFiles(t, s) {
			if st, err := os.Stat(f); err == nil && st.Size() > 0 {
				return false
			}
		}
		return true
	})
}

// What is on disk and whose file somebody has deleted is lost, and only that is.
func TestFlow_Spill_Off_AFullStoreIsAnError(t *testing.T) {
	s := play.StartWith(t, 1, func(o *daemon.Options) { o.Spill.Off = true })
	d := s.Driver(nil)
	for n := range uint64(12) {
		write(d, n)
	}
	id := d.Object()
	err := d.Try(wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: part}, nil)
	wantCode(t, "a thirteenth of 8 MiB in 100", err, fault.StoreFull)
}

// A list is pinned by one question: what is there, by its place in the list.
func TestFlow_PinMany_WhatIsThere(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	a, b, none := d.Put(4096), d.Put(8192), d.Object()
	var got wire.ObjPlaces
	d.Call(wire.TObjPins, wire.ObjRefs{ObjectIDs: [][]byte{none[:], b[:], a[:]}}, &got)
	if len(got.Which) != 2 || got.Which[0] != 1 || got.Which[1] != 2 || got.Sizes[0] != 8192 || got.Sizes[1] != 4096 || got.Offsets[0] == got.Offsets[1] {
		t.Errorf("got %+v", got)
	}
	wantCode(t, "too many", d.Try(wire.TObjPins, wire.ObjRefs{ObjectIDs: make([][]byte, 10_001)}, nil), fault.BadRequest)
	wantCode(t, "no id", d.Try(wire.TObjPins, wire.ObjRefs{ObjectIDs: [][]byte{{1}}}, nil), fault.BadRequest)
}

// A file that somebody has deleted is noticed by whoever asks what the store
// lacks, before a reader needs the object; what is elsewhere can be read.
func TestFlow_Spill_FilesAreDeleted_TheirObjectsAreLost(t *testing.T) {
	s, d, all, raw := startSpilled(t)
	files := spilledFiles(t, s)
	if len(files) == 0 {
		t.Fatal("nothing is on disk")
	}
	for _, f := range files {
		os.Remove(f)
	}
	var lacks wire.ObjMissing
	d.Call(wire.TObjCheck, wire.ObjRefs{ObjectIDs: raw}, &lacks)
	lost := map[string]bool{}
	for _, id := range lacks.ObjectIDs {
		lost[string(id)] = true
	}
	if len(lost) < 8 || len(lost) == len(all) {
		t.Fatalf("%d of %d objects are lost", len(lost), len(all))
	}
	for i, id := range all {
		if !lost[string(id[:])] {
			reads(d, id, uint64(i+1))
			continue
		}
		_, err := d.Pin(id)
		wantCode(t, "a lost one", err, fault.ObjectLost)
	}
}

// A process may write a new object where one was that it alone had.
func TestFlow_Reuse_ThePlaceOfWhatOneHadAlone(t *testing.T) {
	s := play.Start(t, 1)
	d, other := s.Driver(nil), s.Driver(nil)
	old, next := d.Put(1<<20), d.Object()
	at, err := d.Pin(old)
	if err != nil {
		t.Fatal(err)
	}
	for what, q := range map[string]wire.ObjReuse{
		"no id":            {ObjectID: []byte("x"), Old: old[:], Size: 10},
		"no place":         {ObjectID: next[:], Old: []byte("x"), Size: 10},
		"more than it had": {ObjectID: next[:], Old: old[:], Size: 1<<20 + 1},
	} {
		d.Push(wire.TObjReuse, q)
		if st := d.Stats(); st.Objects != 1 || st.Used != 1<<20 {
			t.Errorf("%s: the store is %+v", what, st)
		}
	}
	theirs := other.Object()
	other.Push(wire.TObjReuse, wire.ObjReuse{ObjectID: theirs[:], Old: old[:], Size: 10})
	if st := other.Stats(); st.Objects != 1 {
		t.Errorf("a stranger took its place: %+v", st)
	}
	d.Push(wire.TObjReuse, wire.ObjReuse{ObjectID: next[:], Old: old[:], Size: 4096})
	d.Seal(next)
	again, err := d.Pin(next)
	if err != nil || again.Offset != at.Offset || again.Size != 4096 {
		t.Errorf("got %+v, %v, want it at %d", again, err, at.Offset)
	}
	_, err = d.Pin(old)
	wantCode(t, "the old one", err, fault.ObjectLost)
	if st := d.Stats(); st.Objects != 1 || st.Used != 4096 {
		t.Errorf("the store is %+v", st)
	}
}
