package localstore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A value is written to its place in the arena or in a file. What cannot be written is freed, and a full disk is told.
func TestFill_WrittenOrFreed(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "spilled")
	if err := os.WriteFile(file, make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, false)
	for i, x := range []struct {
		what  string
		at    wire.ObjPlace
		code  fault.Code
		words string
	}{
		{"the arena", wire.ObjPlace{Offset: 4096, Size: 10}, "", ""},
		{"a file", wire.ObjPlace{Path: file, Size: 10}, "", ""},
		{"a file that is not there", wire.ObjPlace{Path: filepath.Join(folder, "none"), Size: 10}, "", "write object"},
		{"a full disk", wire.ObjPlace{Path: "/dev/full", Size: 10}, fault.OutOfDisk, "of 10 bytes: the disk became full"},
	} {
		id := ids.NewObject(uint64(500+i), n.self, ids.JobOf(1), 1)
		n.freed, n.sealed = nil, nil
		err := n.s.fill(id, x.at, false, func(w *writer) error { return w.write(3, []byte("value")) })
		if (err == nil) != (x.words == "") || err != nil && (!strings.Contains(err.Error(), x.words) || !strings.Contains(err.Error(), id.String())) || x.code != "" && fault.CodeOf(err) != x.code {
			t.Errorf("%s: %v", x.what, err)
		}
		if written := len(n.sealed) == 1 && len(n.freed) == 0; written != (err == nil) || len(n.sealed)+len(n.freed) != 1 {
			t.Errorf("%s: %d are sealed, %d freed", x.what, len(n.sealed), len(n.freed))
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b[3:8]) != "value" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if b, err := n.s.mapping.Slice(4099, 5); err != nil || string(b) != "value" {
		t.Errorf("the arena has %q, %v", b, err)
	}
}

// What Write has written is an envelope of the value.
func TestWrite_ValueWithBuffers_IsAnEnvelope(t *testing.T) {
	n := newNode(t, false)
	v := Value{Format: store.FormatBytes, Meta: []byte("meta"), Bufs: [][]byte{[]byte("first"), make([]byte, 5000), []byte("last")}}
	lens := []int{5, 5000, 4}
	total, _ := store.Layout(len(v.Meta), lens, nil)
	o := n.stored(uint64(total))
	at := wire.ObjPlace{Offset: 8192, Size: uint64(total)}
	if err := n.s.Write(o.ID, at, v, false); err != nil {
		t.Fatal(err)
	}
	p := n.s.Ask(o.ID)
	n.answer(at, nil)
	b, _, err := n.s.Open(n.take(p))
	if err != nil {
		t.Fatal(err)
	}
	e, err := store.Parse(b)
	if err != nil || e.Format != store.FormatBytes || string(e.Meta) != "meta" || len(e.Bufs) != 3 || string(e.Bufs[0]) != "first" || string(e.Bufs[2]) != "last" {
		t.Errorf("%+v, %v", e, err)
	}
}

// A place that is smaller than what was asked for is not used.
func TestRoom_SmallerThanAsked_IsAnError(t *testing.T) {
	n := newNode(t, false)
	for size, ok := range map[int]bool{99: true, 100: true, 101: false} {
		r := n.s.AskRoom(foreign(1), size, true)
		if q := r.Request(); q.Size != uint64(size) || !q.Anew {
			t.Errorf("%+v", q)
		}
		if len(n.rooms) == 0 || n.rooms[len(n.rooms)-1] != r {
			t.Fatal("the daemon is not asked")
		}
		select {
		case <-r.Done():
			t.Fatal("it is answered before the daemon has answered")
		default:
		}
		r.Placed(place(1), nil)
		<-r.Done()
		if _, err := r.Place(); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "gave 100 of 101 bytes") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	r := n.s.AskRoom(foreign(2), 1, false)
	n.s.TakeBack(r)
	expectIDs(t, "freed", n.freed, []ids.Object{foreign(2)})
}
