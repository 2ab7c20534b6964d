package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/resource"
)

// Options of spilling that are not given have their defaults, and those that
// are given are taken.
func TestSpiller_Options_DefaultsAndGiven(t *testing.T) {
	for name, c := range map[string]struct {
		o       SpillOptions
		ahead   uint64
		batch   uint64
		readers int
		grace   time.Duration
	}{
		"nothing is given": {SpillOptions{}, 160 << 20 * 4 / 5, 16 << 20, 8, 100 * time.Millisecond},
		"all is given":     {SpillOptions{Threshold: 0.5, Full: 0.5, MinBytes: 1 << 20, Readers: 3, Grace: time.Minute, Cache: 0.25}, 80 << 20, 1 << 20, 3, time.Minute},
		"a batch of more than an eighth of the store": {SpillOptions{MinBytes: 21 << 20}, 160 << 20 * 4 / 5, 20 << 20, 8, 100 * time.Millisecond},
	} {
		dir, err := os.MkdirTemp("", "er")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		d, err := Open(Options{SessionDir: dir + "/s", Node: ids.NewNode(), Totals: resource.Set{resource.CPU: resource.Unit}, Devices: noDevices{}, ArenaBytes: 160 << 20, CPUs: 1, Spill: c.o})
		if err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		tb := d.objects
		if tb.ahead != c.ahead || tb.batchBytes != c.batch || tb.grace != c.grace || cap(d.spill.slots) != c.readers || tb.memoryOnly {
			t.Errorf("%s: written ahead from %d bytes in batches of %d, %d readers, grace %v", name, tb.ahead, tb.batchBytes, cap(d.spill.slots), tb.grace)
		}
		d.mu.Unlock()
		if _, err := os.Stat(filepath.Join(dir, "s", spilledName)); err != nil {
			t.Errorf("%s: where it spills to is not written down: %v", name, err)
		}
		d.Close(false)
	}
	dir := t.TempDir()
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	d := &Daemon{objects: newTable(1 << 20)}
	for want, asked := range map[time.Duration]time.Duration{memoryGrace: 0, time.Hour: time.Hour} {
		if d.keepInMemory(asked); !d.objects.memoryOnly || d.objects.grace != want || d.objects.ahead != d.objects.capacity {
			t.Errorf("a session that spills nothing waits %v, want %v", d.objects.grace, want)
		}
	}
}
