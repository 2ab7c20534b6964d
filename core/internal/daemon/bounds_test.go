package daemon

import (
	"log/slog"
	"strings"
	"testing"
	"time"

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

func TestBackoff_LongerEachTimeUntilTheMost(t *testing.T) {
	for falls, want := range map[int]time.Duration{0: 0, 1: 0, 2: firstBackoff, 3: 2 * firstBackoff, 4: 4 * firstBackoff, 9: 128 * firstBackoff, 10: maxBackoff, 60: maxBackoff, 1 << 40: maxBackoff} {
		if got := backoff(falls); got != want {
			t.Errorf("%d falls: %v, want %v", falls, got, want)
		}
	}
}

// What is said of an actor's end names its reason, and the detail when there is one.
func TestWhy_EachReasonInWords(t *testing.T) {
	for r, words := range map[record.Reason]string{
		record.Killed: "`ray.kill`", record.Released: "all references", record.WorkerDied: "worker process has died: d", record.Exited: "on purpose: d",
		record.OwnerDied: "owner has died: d", record.JobEnded: "its job has ended: d", record.StartFailed: "could not be started: d", record.EnvFailed: "runtime environment could not be made: d",
		record.OutOfMemory: "ran out of memory: d", record.GPUMemory: "GPU's memory than it had asked for: d", record.NodeDied: "its node has died: d", "else": "else: d",
	} {
		if got := causeText(r, "d."); !strings.Contains(got, words) {
			t.Errorf("%s: %q", r, got)
		}
		if got := causeText(r, ""); strings.Contains(got, ":") {
			t.Errorf("%s without a detail: %q", r, got)
		}
		comes := r == record.WorkerDied || r == record.NodeDied || r == record.OutOfMemory || r == record.GPUMemory || r == record.Killed
		if restartable(r) != comes {
			t.Errorf("%s: restartable is %v", r, !comes)
		}
	}
	if reasonOf(fault.OutOfMemory) != record.OutOfMemory || reasonOf(fault.GPUMemoryExceeded) != record.GPUMemory {
		t.Error("an excess has another's reason")
	}
}
