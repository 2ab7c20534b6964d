package store

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// needHuge skips where the system makes no huge pages when asked to.
func needHuge(t *testing.T) {
	t.Helper()
	m := newMapping(t, hugePage)
	if err := m.WriteAt(0, pattern(hugePage, 1)); err != nil {
		t.Fatal(err)
	}
	if !m.known(0, hugePage) {
		t.Skip("this system does not make huge pages of shared memory when asked (MADV_COLLAPSE, Linux 6.1), or has none")
	}
}

// mappedHuge returns how many KiB of huge pages of files in memory this process has mapped.
func mappedHuge(t *testing.T) (kib int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "ShmemPmdMapped:")
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}

// write writes a pattern and checks that it is what is read, in every mapping.
func write(t *testing.T, off uint64, size int, seed byte, m *Mapping, others ...*Mapping) {
	t.Helper()
	want := pattern(size, seed)
	if err := m.WriteAt(off, want); err != nil {
		t.Fatal(err)
	}
	for _, m := range append(others, m) {
		if got, err := m.Slice(off, uint64(size)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes at %d: read back differs (%v)", size, off, err)
		}
	}
}

func TestMapping_FirstWrite_HugePagesForWhatItCovers(t *testing.T) {
	needHuge(t)
	for _, c := range []struct{ off, size, memory, huge uint64 }{
		{0, 8 * mib, 8 * mib, 8 * mib},
		{64, 8 * mib, 8*mib + pageSize, 8 * mib},                // after a header
		{mib / 2, 4 * mib, 5*mib - mib/2, 4 * mib},              // what lies before is at most a quarter
		{mib/2 + pageSize, 4 * mib, 4 * mib, 2 * mib},           // more than that
		{0, 4*mib - pageSize, 4*mib - pageSize, 2 * mib},        // nothing behind it
		{5 * mib, 2 * mib, 2 * mib, 0},                          // no whole one
		{pageSize, mib, mib, 0},                                 // small
		{30*mib + 64, 4*mib - 64, 4 * mib, 4 * mib},             // to where the last whole one ends
		{32 * mib, 2*mib + pageSize, 2*mib + pageSize, 2 * mib}, // and what comes after it
	} {
		m := newMapping(t, 34*mib+pageSize)
		before := mappedHuge(t)
		write(t, c.off, int(c.size), 5, m)
		if n := blocksOf(t, m); n != int64(c.memory) {
			t.Errorf("%d bytes at %d: %d bytes of memory, want %d", c.size, c.off, n, c.memory)
		}
		if n := mappedHuge(t) - before; n != int(2*c.huge>>10) { // to be written, and to be read
			t.Errorf("%d bytes at %d: %d KiB of huge pages are mapped, want %d", c.size, c.off, n, 2*c.huge>>10)
		}
	}
}

func TestMapping_HugePagesOfAnotherProcess_MappedAtOnce(t *testing.T) {
	needHuge(t)
	m := newMapping(t, 16*mib)
	other, err := Map(m.Fd(), m.Size())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	write(t, 64, 8*mib, 1, m, other)
	write(t, 64, 8*mib, 2, other, m)
	if !other.known(0, 8*mib) {
		t.Error("huge pages that are there are not mapped by the first write")
	}
	// Small ones are written through the descriptor first, and are worth more the second time.
	if err := m.pwrite(8*mib, pattern(8*mib, 3)); err != nil {
		t.Fatal(err)
	}
	write(t, 8*mib, 8*mib, 4, other, m)
	if other.known(8*mib, 8*mib) {
		t.Error("mapped, though another process has made small pages")
	}
	write(t, 8*mib, 8*mib, 5, other, m)
	if !other.known(8*mib, 8*mib) {
		t.Error("still not mapped after the second write")
	}
}

// What is written again and again is copied in one go, its ends that fill no block too.
func TestMapping_LargeWritesToOneRange_AllOfItIsMapped(t *testing.T) {
	for _, huge := range []bool{true, false} {
		m := newMapping(t, 32*mib)
		if !huge {
			m.collapse = noHugePages
		}
		const off, size = 3*pageSize + 64, 10*mib + 100
		for round := range byte(3) {
			write(t, off, size, round, m)
			if got := m.intact(off, size); got != (round > 0) {
				t.Errorf("huge %v, write %d: all known to be mapped: %v", huge, round+1, got)
			}
		}
		if err := m.Punch(4*mib, 4*mib); err != nil {
			t.Fatal(err)
		}
		if m.intact(off, size) {
			t.Errorf("huge %v: pages that were punched out are taken for mapped", huge)
		}
		write(t, off, size, 9, m)
		if m.intact(off, size) != huge {
			t.Errorf("huge %v: not as new after they were punched out", huge)
		}
	}
}

func TestMapping_HugePagesPunchedOut_MemoryGivenBackAndMadeAgain(t *testing.T) {
	needHuge(t)
	m := newMapping(t, 16*mib)
	write(t, 0, 16*mib, 1, m)
	if err := m.Punch(3*mib, 8*mib); err != nil { // from the middle of one to the middle of another
		t.Fatal(err)
	}
	if n := blocksOf(t, m); n != 8*mib {
		t.Errorf("%d bytes of memory, want 8 MiB", n)
	}
	want := pattern(16*mib, 1)
	clear(want[3*mib : 11*mib])
	if got, err := m.Slice(0, 16*mib); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("what was punched out is not zeros, or something else is (%v)", err)
	}
	if err := m.Punch(3*mib, 8*mib); err != nil { // reading has made pages
		t.Fatal(err)
	}
	m.Trim(nil)
	before := mappedHuge(t)
	write(t, 0, 16*mib, 2, m)
	if n := mappedHuge(t) - before; n < 2*14<<10 { // all but the one of which the probe is still there
		t.Errorf("%d KiB of huge pages are mapped after they were made again", n)
	}
}

// Whatever goes wrong with huge pages, small ones do, and after a while they are asked for again.
func TestMapping_HugePagesFail_SmallOnesDo(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		made int // blocks that the failing call makes nevertheless
	}{
		{name: "no memory", err: unix.ENOMEM},
		{name: "somebody reads a page", err: unix.EAGAIN, made: 1},
		{name: "not this range", err: unix.EINVAL},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMapping(t, 16*mib)
			var mu sync.Mutex // several threads ask
			calls := 0
			m.collapse = func(b []byte) error {
				mu.Lock()
				defer mu.Unlock()
				if calls++; c.made > 0 {
					_ = collapse(b[:c.made*hugePage])
				}
				return c.err
			}
			began := clock()
			write(t, 64, 8*mib, 1, m)
			first := calls
			if pauses := c.err != unix.EAGAIN; pauses != (m.pausedUntil.Load() > began) {
				t.Errorf("huge pages are given up until %d, the first write began at %d", m.pausedUntil.Load(), began)
			} else if pauses && m.pausedUntil.Load() != math.MaxInt64 {
				m.pausedUntil.Store(math.MaxInt64 - 1) // the pause lasts for as long as this machine needs
			}
			write(t, 64, 8*mib, 2, m)
			write(t, 8*mib, 8*mib, 3, m)
			if again := c.err == unix.EAGAIN; again != (calls > first) || first == 0 {
				t.Errorf("asked %d times by the first write, %d in all", first, calls)
			}
			if known := collapses(m.ro); c.err == unix.EINVAL && known == (m.pausedUntil.Load() == math.MaxInt64) {
				t.Errorf("this system makes huge pages: %v; given up until %d", known, m.pausedUntil.Load())
			}
			m.collapse = collapse
			m.pausedUntil.Store(clock())
			if err := m.Punch(0, 16*mib); err != nil {
				t.Fatal(err)
			}
			write(t, 0, 16*mib, 4, m)
		})
	}
}

func TestMapping_SlowHugePages_FewAreMade(t *testing.T) {
	m := newMapping(t, 64*mib)
	m.slowFrom = slowHugePage
	var mu sync.Mutex // several threads ask
	calls, most := 0, 0
	count := func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		calls, most = calls+1, max(most, len(b)/hugePage)
	}
	m.collapse = func(b []byte) error {
		count(b)
		for from := threadTime(); threadTime()-from < 50*time.Millisecond; {
		}
		return collapse(b)
	}
	write(t, 0, 64*mib, 1, m)
	if calls > maxCopiers || most != 1 {
		t.Errorf("%d calls, of up to %d pages", calls, most)
	}
	m.collapse = func(b []byte) error {
		count(b)
		return nil // at no cost
	}
	m.pausedUntil.Store(0)
	if err := m.Punch(0, 64*mib); err != nil {
		t.Fatal(err)
	}
	write(t, 0, 64*mib, 2, m)
	if most != hugeMost {
		t.Errorf("up to %d pages at once where they cost nothing, want %d", most, hugeMost)
	}
}

// Else no block could be mapped as one page.
func TestMapFile_WholeArena_AlignedAndNoMore(t *testing.T) {
	for _, size := range []uint64{pageSize, hugePage, 5*mib + 3*pageSize} {
		m := newMapping(t, size)
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%x-%x r--s", start(m.ro), start(m.ro)+uintptr(size))
		if start(m.ro)%hugePage != 0 || !strings.Contains(string(maps), want) {
			t.Errorf("%d bytes: want %s\n%s", size, want, maps)
		}
	}
}

func start(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
