package client

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// A value is written to its place in the arena or in a file. What cannot be written is freed, and a full disk is told.
func TestFill_WrittenOrFreed(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	folder := t.TempDir()
	file := filepath.Join(folder, "spilled")
	if err := os.WriteFile(file, make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	var sealed int
	d.answers(wire.TObjSealed, func(*wire.Message) bool { sealed++; return false })
	for i, x := range []struct {
		what  string
		at    wire.ObjPlace
		code  fault.Code
		words string
	}{
		{"the arena", wire.ObjPlace{Offset: 4096, Size: 10}, "", ""},
		{"a file", wire.ObjPlace{Path: file, Size: 10}, "", ""},
		{"a file that is not there", wire.ObjPlace{Path: filepath.Join(folder, "none"), Size: 10}, fault.Internal, "write object"},
		{"a full disk", wire.ObjPlace{Path: "/dev/full", Size: 10}, fault.OutOfDisk, "of 10 bytes: the disk became full"},
	} {
		id := ids.NewObject(uint64(500+i), c.self, c.info.Job, 1)
		err := c.fill(id, x.at, wire.TObjSealed, func(w *writer) error { return w.write(3, []byte("value")) })
		if x.words == "" && err != nil || x.words != "" && (err == nil || !strings.Contains(err.Error(), x.words) || !strings.Contains(err.Error(), id.String())) || x.code == fault.OutOfDisk && fault.CodeOf(err) != x.code {
			t.Errorf("%s: %v", x.what, err)
		}
		if err := c.daemon.Call(context.Background(), wire.TObjStats, nil, nil); err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		if d.freed[string(id[:])] != (x.words != "") || x.words == "" && sealed != i+1 {
			t.Errorf("%s: freed %v, %d are sealed", x.what, d.freed[string(id[:])], sealed)
		}
		d.mu.Unlock()
	}
	if b, err := os.ReadFile(file); err != nil || string(b[3:8]) != "value" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if b, err := c.arena.Slice(4099, 5); err != nil || string(b) != "value" {
		t.Errorf("the arena has %q, %v", b, err)
	}
}

// A store that gives less room than was asked for is not written to.
func TestCreate_LessRoomThanAsked_IsRefused(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	given := uint64(100)
	d.answers(wire.TObjCreate, func(m *wire.Message) bool {
		_ = m.Reply(wire.ObjPlace{Offset: 4096, Size: given})
		return true
	})
	for _, x := range []struct {
		size int
		ok   bool
	}{{99, true}, {100, true}, {101, false}} {
		_, err := c.create(ids.NewObject(7, c.self, c.info.Job, 1), x.size, false, false, nil)
		if (err == nil) != x.ok || err != nil && !strings.Contains(err.Error(), "gave 100 of 101 bytes") {
			t.Errorf("%d bytes: %v", x.size, err)
		}
	}
}
