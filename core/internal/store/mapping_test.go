package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func newMapping(t testing.TB, size uint64) *Mapping {
	t.Helper()
	fd, err := CreateMemory("eagleray-test", size)
	if err != nil {
		t.Fatal(err)
	}
	return mapped(t, fd, size)
}

// mapped maps a file, which it closes.
func mapped(t testing.TB, fd int, size uint64) *Mapping {
	t.Helper()
	m, err := Map(fd, size)
	unix.Close(fd)
	if err != nil {
		t.Fatal(err)
	}
	m.slowFrom = time.Hour // whatever else the machine does
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// noHugePages stands for a system that has none left.
func noHugePages([]byte) error { return unix.ENOMEM }

func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>8) ^ byte(i) ^ seed
	}
	return b
}

func TestMapping_EveryWayOfWriting_SameBytes(t *testing.T) {
	for _, huge := range []bool{false, true} {
		m := newMapping(t, 64*mib)
		if !huge {
			m.collapse = noHugePages
		}
		for _, size := range []int{1, 4095, mapAfter - 1, mapAfter, mib + 13, 20*mib + 5} {
			off := uint64(3 * pageSize)
			for round := range byte(4) {
				want := pattern(size, round)
				cut := size / 3
				if err := m.WriteAt(off, want[:cut], nil, want[cut:]); err != nil {
					t.Fatal(err)
				}
				got, err := m.Slice(off, uint64(size))
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("huge %v, %d bytes, round %d: read back differs (%v)", huge, size, round, err)
				}
			}
		}
	}
}

func TestCopyParallel_AnyNumberOfThreads_EveryByte(t *testing.T) {
	for _, size := range []int{0, 1, granule, 5*granule - 1, 5 * granule, 5*granule + 1} {
		src := pattern(size, 9)
		for n := range 7 {
			dst := make([]byte, size+1)
			copyParallel(dst, src, n)
			if !bytes.Equal(dst[:size], src) || dst[size] != 0 {
				t.Errorf("%d bytes by %d threads", size, n)
			}
		}
	}
}

func TestMapping_SecondLargeWrite_GoesThroughTheMapping(t *testing.T) {
	m := newMapping(t, 4*mib+pageSize)
	b := pattern(mib, 1)
	off := uint64(3*mib + pageSize) // up to the last byte, which ends within a granule
	for round, mapped := range []bool{false, true, true} {
		if got := m.writable(off, mib) != nil; got != mapped {
			t.Errorf("write %d: mapped %v, want %v", round+1, got, mapped)
		}
		if err := m.pwrite(off, b); err != nil {
			t.Fatal(err)
		}
	}
	if m.writable(2*mib, mib+mib/2) != nil {
		t.Error("a range with a new part is not mapped")
	}
	if m.writable(3*mib, mib-granule) == nil {
		t.Error("a part of mapped ranges is mapped")
	}
}

func TestMapping_Slice_WritingFaults(t *testing.T) {
	m := newMapping(t, mib)
	s, err := m.Slice(0, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() == nil {
			t.Error("written through a read-only slice")
		}
	}()
	s[0] = 1
}

func TestMapping_RangesOutside_Error(t *testing.T) {
	m := newMapping(t, mib)
	for _, r := range [][2]uint64{{mib, 1}, {mib + 1, 0}, {0, mib + 1}, {^uint64(0), 2}, {1, ^uint64(0)}} {
		if _, err := m.Slice(r[0], r[1]); !errors.Is(err, ErrOutOfRange) {
			t.Errorf("Slice%v: %v", r, err)
		}
		if err := m.Punch(r[0], r[1]); !errors.Is(err, ErrOutOfRange) {
			t.Errorf("Punch%v: %v", r, err)
		}
	}
	if err := m.WriteAt(mib-1, []byte{1}, []byte{2}); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("WriteAt: %v", err)
	}
	if _, err := Map(0, 0); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("Map of nothing: %v", err)
	}
	if _, err := Map(-1, mib); err == nil {
		t.Error("mapped no descriptor")
	}
}

func TestMapping_Punch_GivesPagesBack(t *testing.T) {
	m := newMapping(t, 8*mib)
	resident := func() int64 {
		var st unix.Stat_t
		if err := unix.Fstat(m.Fd(), &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks * 512
	}
	if resident() != 0 {
		t.Fatalf("%d bytes before the first write", resident())
	}
	if err := m.WriteAt(0, pattern(4*mib, 7)); err != nil || resident() != 4*mib {
		t.Fatalf("WriteAt: %v, %d bytes", err, resident())
	}
	if err := m.Punch(2*mib, 2*mib); err != nil || resident() != 2*mib {
		t.Fatalf("Punch: %v, %d bytes", err, resident())
	}
	if s, _ := m.Slice(2*mib, mib); bytes.ContainsFunc(s, func(r rune) bool { return r != 0 }) {
		t.Error("punched pages are not zero")
	}
}

func TestMapping_AfterClose_ErrorNotFault(t *testing.T) {
	m := newMapping(t, mib)
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Slice(0, 1); !errors.Is(err, ErrMappingClosed) {
		t.Errorf("Slice: %v", err)
	}
	if err := m.WriteAt(0, []byte{1}); !errors.Is(err, ErrMappingClosed) {
		t.Errorf("WriteAt: %v", err)
	}
	if err := m.Punch(0, pageSize); !errors.Is(err, ErrMappingClosed) {
		t.Errorf("Punch: %v", err)
	}
}

func TestMapping_OpenedAndClosed_LeavesNoDescriptorOrMapping(t *testing.T) {
	count := func() (fds, maps int) {
		e, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return len(e), bytes.Count(b, []byte("eagleray-leak"))
	}
	before, _ := count()
	for range 20 {
		const size = 4 * mib
		fd, err := CreateMemory("eagleray-leak", size)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Map(fd, size)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(m.pwrite(0, pattern(size, 1)), m.WriteAt(0, pattern(size, 2))); err != nil { // asks what is mapped
			t.Fatal(err)
		}
		unix.Close(fd)
		m.Close()
	}
	if fds, maps := count(); fds != before || maps != 0 {
		t.Errorf("%d descriptors, was %d; %d mappings", fds, before, maps)
	}
}

// Writers and readers of one arena, its offsets from an Arena, in parallel: in two processes, as
// it were, whose objects share huge pages.
func TestMapping_ConcurrentWriters_KeepTheirBytes(t *testing.T) {
	m := newMapping(t, 64*mib)
	other, err := Map(m.Fd(), m.Size())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	a := NewArena(m.Size())
	var wg sync.WaitGroup
	for w := range byte(4) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 3))
			write, read := m, other
			if w%2 > 0 {
				write, read = other, m
			}
			for range 40 {
				b := pattern(1+rng.IntN([]int{mib, 6 * mib}[rng.IntN(2)]), w)
				off, ok := a.Alloc(uint64(len(b)))
				if !ok {
					t.Error("no room")
					return
				}
				if err := write.WriteAt(off, b); err != nil {
					t.Error(err)
				}
				if s, err := read.Slice(off, uint64(len(b))); err != nil || !bytes.Equal(s, b) {
					t.Errorf("writer %d: read back differs (%v)", w, err)
				}
				var err error
				if rng.IntN(4) > 0 {
					err = a.Free(off)
				} else if err = write.Punch(off, uint64(len(b))); err == nil {
					err = a.FreeCold(off)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestCreateMemory_CannotBeResized(t *testing.T) {
	fd, err := CreateMemory("eagleray-test", mib)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, size := range []int64{0, 2 * mib} {
		if err := unix.Ftruncate(fd, size); err == nil {
			t.Errorf("resized to %d", size)
		}
	}
}

func BenchmarkMapping_WriteAt(b *testing.B) {
	for _, size := range []int{128 << 10, mib, 10 * mib, 100 * mib} {
		src := pattern(size, 1)
		b.Run(fmt.Sprintf("recycled/%dKiB", size>>10), func(b *testing.B) {
			m := newMapping(b, uint64(size))
			b.SetBytes(int64(size))
			for b.Loop() {
				if err := m.WriteAt(0, src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("cold/%dKiB", size>>10), func(b *testing.B) {
			m := newMapping(b, uint64(size))
			b.SetBytes(int64(size))
			for b.Loop() {
				b.StopTimer()
				m.Punch(0, m.Size())
				b.StartTimer()
				if err := m.pwrite(0, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestMapping_Pages_WholePagesThatCanBeWritten(t *testing.T) {
	for _, huge := range []bool{false, true} {
		m := newMapping(t, 4*mib)
		if !huge {
			m.collapse = noHugePages
		}
		b, err := m.Pages(3*pageSize, mib+5)
		if err != nil || len(b) != mib+pageSize || cap(b) != len(b) {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		want := pattern(len(b), 7)
		copy(b, want)
		if got, err := m.Slice(3*pageSize, uint64(len(b))); err != nil || !bytes.Equal(got, want) {
			t.Errorf("huge %v: read back differs (%v)", huge, err)
		}
		if b, err := m.Pages(4*mib-pageSize, pageSize); err != nil || len(b) != pageSize {
			t.Errorf("the last page: %d bytes, %v", len(b), err)
		}
		for _, r := range [][2]uint64{{4 * mib, 1}, {0, 4*mib + 1}, {1 << 63, 1 << 63}, {pageSize, ^uint64(0)}} {
			if b, err := m.Pages(r[0], r[1]); !errors.Is(err, ErrOutOfRange) {
				t.Errorf("%d bytes at %d: %d bytes, %v", r[1], r[0], len(b), err)
			}
		}
		m.Close()
		if _, err := m.Pages(0, pageSize); !errors.Is(err, ErrMappingClosed) {
			t.Errorf("closed: %v", err)
		}
	}
}
