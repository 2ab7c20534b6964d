package daemon

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

func TestOptions_Check_BoundsAndDefaults(t *testing.T) {
	longest := strings.Repeat("x", maxSocketPath-len("/p/.sock")-2*ids.OwnerSize)
	for _, c := range []struct {
		name  string
		o     Options
		words string // "": it is accepted
	}{
		{"no folder", Options{Number: 1, ArenaBytes: minArena}, "not given"},
		{"the longest folder", Options{Number: 1, SessionDir: longest, ArenaBytes: minArena}, ""},
		{"a folder that is too long", Options{Number: 1, SessionDir: longest + "x", ArenaBytes: minArena}, "108 bytes, the system allows 107"},
		{"the smallest store", Options{Number: 1, SessionDir: "/s", ArenaBytes: minArena}, ""},
		{"a store that is too small", Options{Number: 1, SessionDir: "/s", ArenaBytes: minArena - 1}, "object_store_memory is 78643199 bytes"},
		{"no number", Options{SessionDir: "/s", ArenaBytes: minArena}, "the node has no number"},
		{"the highest number", Options{Number: 1<<32 - 1, SessionDir: "/s", ArenaBytes: minArena}, ""},
	} {
		err := c.o.Check()
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.words)
		}
	}
	log := slog.New(slog.DiscardHandler)
	for want, o := range map[int]Options{1: {}, 2: {CPUs: 2, Log: log}} {
		o.Number, o.SessionDir, o.ArenaBytes = 1, "/s", minArena+5000
		if err := o.Check(); err != nil || o.CPUs != want || o.ArenaBytes != minArena+4096 || o.Log == nil || want == 2 && o.Log != log {
			t.Errorf("%+v, %v", o, err)
		}
	}
}

// An excess of memory ends an actor for the reason of that memory.
func TestReasonOf_ExcessOfEitherMemory(t *testing.T) {
	if reasonOf(fault.OutOfMemory) != record.OutOfMemory || reasonOf(fault.GPUMemoryExceeded) != record.GPUMemory {
		t.Error("an excess has another's reason")
	}
}
