package store

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// resident returns how many KiB of a mapping are in this process's tables.
func resident(t *testing.T, b []byte) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	start := start(b)
	total, inside := 0, false
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from >= start && to <= start+uintptr(len(b))
		}
		var kib int
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kib); n == 1 && inside {
			total += kib
		}
	}
	return total
}

func TestMapping_Trim_LetsGoOfWhatIsNotInUse(t *testing.T) {
	m := newMapping(t, 8<<20)
	m.collapse = noHugePages
	trimLetsGo(t, m, 3<<10)
}

// A huge page goes when a part of it does.
func TestMapping_TrimOfHugePages_LetsGoOfWhatIsNotInUse(t *testing.T) {
	needHuge(t)
	m := newMapping(t, 8<<20)
	trimLetsGo(t, m, 2<<10)
}

// trimLetsGo trims a mapping of 8 MiB, of which 3 are in use. So many KiB are mapped then.
func trimLetsGo(t *testing.T, m *Mapping, left int) {
	t.Helper()
	const size = 8 << 20
	want := pattern(size, 7)
	for range 2 { // the second time through the writable mapping
		if err := m.WriteAt(0, want); err != nil {
			t.Fatal(err)
		}
	}
	all, err := m.Slice(0, size)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(all, want) {
		t.Fatal("other bytes than were written")
	}
	if got := resident(t, m.ro); got < size>>10 {
		t.Fatalf("%d KiB of %d are mapped to read", got, size>>10)
	}
	// Out of order, overlapping, within pages, to the end.
	m.Trim([]Span{{6 << 20, 2 << 20}, {1<<20 + 100, 1 << 20}, {1 << 20, 1 << 20}})
	if got := resident(t, m.ro); got < left || got > left+64 {
		t.Errorf("%d KiB are mapped to read, want %d of the 3 MiB in use", got, left)
	}
	if got := resident(t, m.rw); got != 0 {
		t.Errorf("%d KiB are mapped to write", got)
	}
	if !bytes.Equal(all, want) {
		t.Error("the bytes have changed")
	}
	m.Trim(nil)
	if i := slices.IndexFunc(m.state, func(s pageState) bool { return s != 0 }); i >= 0 || len(m.state) == 0 {
		t.Errorf("part %d of %d is still taken for mapped to write", i, len(m.state))
	}
	if got := resident(t, m.ro); got != 0 {
		t.Errorf("%d KiB are mapped with nothing in use", got)
	}
	for range 3 {
		if err := m.WriteAt(1<<20, want[:2<<20]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(all[1<<20:][:2<<20], want[:2<<20]) {
		t.Error("what was written afterwards is not there")
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m.Trim(nil) // after the end: nothing
}
