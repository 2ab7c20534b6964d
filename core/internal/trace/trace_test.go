package trace

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var me = [12]byte{3: 1, 4: 0xA1, 5: 0xB2, 6: 0xC3, 7: 0xD4, 8: 9}

// opened opens the process's ring in a folder of the test's, and leaves it as if it had never been.
func opened(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "new", "traces")
	if err := Open(folder, "driver", me); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		On = false
		b := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(store), -headSize)), headSize+int(unsafe.Sizeof(ring{})))
		store = nil
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	files, err := filepath.Glob(filepath.Join(folder, "driver-*.trace"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the folder holds %v, %v", files, err)
	}
	return files[0]
}

// saved reads a file back: its head and the stamps that were written, oldest first.
func saved(t *testing.T, path string) (head, []Stamp) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var h head
	if err := json.Unmarshal(bytes.TrimRight(b[:headSize], "\x00"), &h); err != nil {
		t.Fatal(err)
	}
	r := (*ring)(unsafe.Pointer(&b[headSize]))
	first, n := uint64(0), min(r.next, capacity)
	if r.next > capacity {
		first = r.next % capacity
	}
	out := make([]Stamp, n)
	for i := range out {
		out[i] = r.stamps[(first+uint64(i))%capacity]
	}
	return h, out
}

func TestOpen_Stamps_AreInTheFile(t *testing.T) {
	path := opened(t)
	var before, after unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &before); err != nil {
		t.Fatal(err)
	}
	began := Now()
	CallOf(Queued, 7, me, true)
	Call(Framed, 8, me, 5)
	Span(Polled, began, 5, 100)
	Span(Read, began, 5, -1)
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &after); err != nil {
		t.Fatal(err)
	}
	h, got := saved(t, path)
	if h.Pid != os.Getpid() || h.Role != "driver" || h.Owner != 0xA1B2C3D4 || h.Stages[Given] != "given" || h.CostNs <= 0 {
		t.Errorf("head %+v", h)
	}
	owner := uint32(0xA1B2C3D4)
	want := []Stamp{
		{Key: 7, Owner: owner, Stage: Queued, Kind: 1},
		{Key: 8, Owner: owner, Aux: 5, Stage: Framed},
		{Key: uint64(began), Aux: 5, Bytes: 100, Stage: Polled},
		{Key: uint64(began), Aux: 5, Stage: Read},
	}
	if len(got) != len(want) {
		t.Fatalf("%d stamps, want %d: %v", len(got), len(want), got)
	}
	const slack = int64(20 * time.Microsecond) // between Go's clock and the system's
	for i, s := range got {
		if s.Ns < before.Nano()-slack || s.Ns > after.Nano()+slack {
			t.Errorf("%s is stamped %d ns, which is not between %d and %d", s.Stage, s.Ns, before.Nano(), after.Nano())
		}
		s.Ns = 0
		if s != want[i] {
			t.Errorf("stamp %d is %+v, want %+v", i, s, want[i])
		}
	}
}

// The other side may have read what is written, and this process be ended, before the write returns.
func TestBeginWrite_IsInTheFileBeforeItsEnd(t *testing.T) {
	path := opened(t)
	before := now()
	w := BeginWrite(5)
	_, got := saved(t, path)
	if len(got) != 1 || got[0].Stage != Wrote || got[0].Aux != 5 || got[0].Ns != 0 || int64(got[0].Key) < before {
		t.Fatalf("a write that began after %d is stamped %+v", before, got)
	}
	w.End(100)
	_, got = saved(t, path)
	if len(got) != 1 || got[0].Bytes != 100 || got[0].Ns < int64(got[0].Key) {
		t.Fatalf("the write has ended, and is stamped %+v", got)
	}
	lost := BeginWrite(6)
	for i := range capacity {
		Call(Framed, uint64(i), me, 7)
	}
	lost.End(100)
	if _, got = saved(t, path); slices.ContainsFunc(got, func(s Stamp) bool { return s.Stage != Framed || s.Bytes != 0 }) {
		t.Error("the end of a write that the ring has let go of changed another stamp")
	}
	Write{}.End(100) // nothing was stamped when it began
}

func TestOpen_Again_KeepsTheRing(t *testing.T) {
	path := opened(t)
	Call(Framed, 1, me, 1)
	other := t.TempDir()
	if err := Open(other, "driver", me); err != nil {
		t.Fatal(err)
	}
	Call(Framed, 2, me, 1)
	if _, got := saved(t, path); len(got) != 2 {
		t.Errorf("%d stamps, want both", len(got))
	}
	if files, _ := os.ReadDir(other); len(files) != 0 {
		t.Errorf("a second ring was made: %v", files)
	}
}

func TestOpen_NoFolder_Error(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Open(filepath.Join(file, "folder"), "driver", me); err == nil || On {
		t.Fatalf("error %v, on %t", err, On)
	}
}

func TestPut_FullAndFromManyThreads_KeepsTheLatest(t *testing.T) {
	path := opened(t)
	const threads, each = 4, capacity / 2
	var all sync.WaitGroup
	for n := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := range each {
				Call(Framed, uint64(i+1), me, n)
			}
		}()
	}
	all.Wait()
	if written := store.next; written != threads*each {
		t.Errorf("%d stamps were written, want %d", written, threads*each)
	}
	_, got := saved(t, path)
	if len(got) != capacity {
		t.Fatalf("%d stamps are kept, want %d", len(got), capacity)
	}
	last := map[uint32]uint64{}
	for _, s := range got {
		if s.Stage != Framed || s.Key <= last[s.Aux] {
			t.Fatalf("thread %d: %+v after %d", s.Aux, s, last[s.Aux])
		}
		last[s.Aux] = s.Key
	}
	for n, latest := range last { // a thread that was done early may have none left
		if latest != each {
			t.Errorf("the latest stamp of thread %d is %d, want %d", n, latest, each)
		}
	}
}

func TestNow_Off_IsNothing(t *testing.T) {
	if Now() != 0 || On || Ring() != nil {
		t.Errorf("now %d, on %t, ring %p without a folder", Now(), On, Ring())
	}
	if n := testing.AllocsPerRun(100, func() { _ = Now() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestStage_Names_AreAllThere(t *testing.T) {
	seen := map[string]bool{}
	for s := Called; s < stages; s++ {
		if s.String() == "" || seen[s.String()] {
			t.Errorf("stage %d has the name %q", s, s)
		}
		seen[s.String()] = true
	}
	if stages.String() != "unknown" {
		t.Error("a number beyond the last stage has a name")
	}
}
