package objects

import (
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/store"
)

// kept is a reclaimer with an arena that has memory behind it.
type kept struct {
	*reclaimer
	t *testing.T
}

func newKept(t *testing.T, size uint64) kept {
	fd, err := store.CreateMemory("reclaimer-test", size)
	if err != nil {
		t.Fatal(err)
	}
	k := newReclaimer(store.NewArena(size), fd, size, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		k.close()
		unix.Close(fd)
	})
	return kept{k, t}
}

// put allocates and writes a range.
func (k kept) put(size uint64) uint64 {
	k.t.Helper()
	off, ok := k.Alloc(size)
	if !ok {
		k.t.Fatalf("no room for %d bytes", size)
	}
	if n, err := unix.Pwrite(k.fd, make([]byte, size), int64(off)); err != nil || n != int(size) {
		k.t.Fatal(n, err)
	}
	return off
}

func (k kept) drop(off uint64) {
	k.t.Helper()
	if err := k.Free(off); err != nil {
		k.t.Fatal(err)
	}
}

// held gives how many bytes of memory the arena has once the reclaimer is at rest.
func (k kept) held() int64 {
	k.t.Helper()
	synctest.Wait()
	var st unix.Stat_t
	if err := unix.Fstat(k.fd, &st); err != nil {
		k.t.Fatal(err)
	}
	return st.Blocks * 512
}

// allLooks is how long the reclaimer may take until it has given back all that was freed.
const allLooks = (keptLooks + 1) * punchEvery

// runs reports whether the reclaimer's goroutine runs once it is at rest.
func (k kept) runs() bool {
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.running
}

// The memory of all that was freed goes back, also that of the range that was
// freed last and after which nothing else happens. Then the reclaimer ends.
func TestReclaimer_AllFreed_AllMemoryGoesBackAndItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t, 256*mib)
		a, b, c := k.put(100*mib), k.put(8*mib), k.put(mib)
		k.drop(b)
		k.drop(a)
		time.Sleep(allLooks)
		if held := k.held(); held != mib || !k.runs() {
			t.Errorf("after the first two went the arena has %d bytes, the reclaimer runs: %v", held, k.runs())
		}
		k.drop(c)
		time.Sleep(allLooks)
		if held := k.held(); held != 0 || k.runs() {
			t.Errorf("after the last one went the arena has %d bytes, the reclaimer runs: %v", held, k.runs())
		}
		// The whole arena is one free range again, and a later object wakes the reclaimer.
		if s := k.arena.Stats(); s.LargestFree != 256*mib || s.Used != 0 {
			t.Errorf("%+v", s)
		}
		k.drop(k.put(200 * mib))
		if !k.runs() {
			t.Error("the reclaimer does not run although a large object was put")
		}
		time.Sleep(allLooks)
		if held := k.held(); held != 0 || k.runs() {
			t.Errorf("the arena has %d bytes, the reclaimer runs: %v", held, k.runs())
		}
	})
}

// What was freed only after the reclaimer had last looked stays until it has looked again. Then
// the last eighth of the arena is left, which stays for half a minute: a program that puts large
// objects with pauses in between finds pages there.
func TestReclaimer_FreedSinceTheLastLook_StaysOnceMoreAndAPartForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t, 64*mib)
		a := k.put(20 * mib)
		time.Sleep(punchEvery + activeFor)
		k.drop(a)
		time.Sleep(punchEvery - activeFor)
		if held := k.held(); held != 20*mib {
			t.Errorf("at the first look after the object went the arena has %d bytes", held)
		}
		for look := 2; look <= keptLooks; look++ {
			time.Sleep(punchEvery)
			if held := k.held(); held != 8*mib {
				t.Errorf("at look %d the arena has %d bytes", look, held)
			}
		}
		time.Sleep(punchEvery)
		if held := k.held(); held != 0 {
			t.Errorf("at the last look the arena has %d bytes", held)
		}
	})
}

// A range that is written again and freed again with a pause in between keeps its pages, for as long as that goes on.
func TestReclaimer_PutAgainAfterAPause_FindsItsPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t, 64*mib)
		for range 5 {
			k.drop(k.put(8 * mib))
			time.Sleep(4 * punchEvery)
			if held := k.held(); held != 8*mib {
				t.Errorf("after a pause the arena has %d bytes", held)
			}
		}
	})
}

// While large objects are being put their freed ranges are about to be written
// again, so the memory stays.
func TestReclaimer_LargePutsGoOn_MemoryStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t, 64*mib)
		idle, _, again, _ := k.put(2*mib), k.put(mib), k.put(mib), k.put(mib)
		k.drop(idle)
		k.drop(again)
		for range 30 {
			k.drop(k.put(largeFrom)) // where the range of one MiB was
			time.Sleep(activeFor / 2)
		}
		if held := k.held(); held != 5*mib {
			t.Errorf("the arena has %d bytes", held)
		}
		time.Sleep(allLooks + activeFor)
		if held := k.held(); held != 2*mib {
			t.Errorf("after the puts have ended the arena has %d bytes", held)
		}
	})
}

// Small objects do not wake the reclaimer: their memory is not worth the calls.
func TestReclaimer_SmallObjects_NothingRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t, 64*mib)
		k.drop(k.put(largeFrom - 1))
		if k.runs() {
			t.Error("the reclaimer runs for a small object")
		}
		k.drop(k.put(largeFrom))
		if !k.runs() {
			t.Error("the reclaimer does not run after a large object was put")
		}
	})
}

// A range that cannot be punched out comes back to the arena as it was, and is tried again later.
func TestReclaimer_PunchFails_TheRangeStaysInTheArena(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t, 64*mib)
		writable := k.fd
		readOnly, err := unix.Open("/proc/self/fd/"+strconv.Itoa(k.fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(readOnly)
		k.reclaimer.fd = readOnly // the kernel refuses to punch through such a descriptor
		off, ok := k.Alloc(4 * mib)
		if _, err := unix.Pwrite(writable, make([]byte, 4*mib), int64(off)); err != nil || !ok {
			t.Fatal(ok, err)
		}
		k.drop(off)
		time.Sleep(allLooks)
		synctest.Wait()
		if s := k.arena.Stats(); s.Used != 0 || s.FreeWarm != 4*mib || s.LargestFree != 64*mib || k.held() != 4*mib || !k.runs() {
			t.Errorf("%+v, %d bytes of memory, the reclaimer runs: %v", s, k.held(), k.runs())
		}
		k.close()
		k.reclaimer.fd = writable
	})
}

// While the reclaimer runs, a large object does not begin it a second time.
func TestReclaimer_Runs_NoSecondOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t, 64*mib)
		k.put(2 * mib)
		first := k.stopped
		k.put(2 * mib)
		if k.stopped != first {
			t.Error("a second reclaimer runs")
		}
	})
}

// Close waits for the reclaimer's goroutine when there is one, and a closed reclaimer does not begin again.
func TestReclaimer_Closed_DoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newKept(t, mib).close() // it never ran
		k := newKept(t, 64*mib)
		off := k.put(2 * mib)
		k.close()
		select {
		case <-k.stopped:
		default:
			t.Error("the reclaimer's goroutine is not over when close returns")
		}
		k.drop(off)
		stopped := k.stopped
		k.drop(k.put(2 * mib))
		if k.stopped != stopped {
			t.Error("a closed reclaimer began to run")
		}
	})
}
