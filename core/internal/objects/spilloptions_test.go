package objects

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// quietStore are the options of a store in a test's folder.
func quietStore(t *testing.T, bytes uint64) Options {
	t.Helper()
	return Options{Bytes: bytes, Dir: t.TempDir(), Lock: new(sync.Mutex), Notify: &fakeDisk{}, Log: slog.New(slog.DiscardHandler)}
}

// Options of spilling that are not given have their defaults, and those that
// are given are taken.
func TestOpen_SpillOptions_DefaultsAndGiven(t *testing.T) {
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
		o := quietStore(t, 160<<20)
		o.Spill = c.o
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if s.writeAheadFrom != c.ahead || s.batchBytes != c.batch || s.grace != c.grace || cap(s.spill.readers) != c.readers || s.memoryOnly {
			t.Errorf("%s: written ahead from %d bytes in batches of %d, %d readers, grace %v", name, s.writeAheadFrom, s.batchBytes, cap(s.spill.readers), s.grace)
		}
		file := filepath.Join(o.Dir, spilledName)
		if b, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(b), o.Dir) {
			t.Errorf("%s: the file that says where it spills to has %q, %v", name, b, err)
		}
		s.Close()
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("%s: a store that was closed leaves the file that says where it spills to: %v", name, err)
		}
	}
}

func TestOpen_NothingIsSpilled_GraceDefaultAndGiven(t *testing.T) {
	for want, asked := range map[time.Duration]time.Duration{memoryGrace: 0, time.Hour: time.Hour} {
		o := quietStore(t, 1<<20)
		o.Spill = SpillOptions{Off: true, Grace: asked}
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if !s.memoryOnly || s.grace != want || s.writeAheadFrom != s.capacity {
			t.Errorf("a store that spills nothing waits %v, want %v", s.grace, want)
		}
		s.Close()
	}
}
