package localstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/store"
)

// readable reports whether an arena is still mapped.
func readable(t *testing.T, m *store.Mapping) bool {
	t.Helper()
	_, err := m.Slice(0, 1)
	if err != nil && !errors.Is(err, store.ErrMappingClosed) {
		t.Fatal(err)
	}
	return err == nil
}

func mappedArena(t *testing.T) *store.Mapping {
	t.Helper()
	fd, err := store.CreateMemory("orphans", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	m, err := store.Map(fd, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// mappedFile maps a file with some bytes, and reports whether it still is.
func mappedFile(t *testing.T, name string) (v *store.FileView, there func() bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := store.MapFile(path, 0, 5000)
	if err != nil {
		t.Fatal(err)
	}
	return v, func() bool { return mapsFile(t, path) }
}

// mapsFile reports whether this process has mapped a file.
func mapsFile(t *testing.T, path string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(maps), path)
}

// What a program looks at when its session ends stays until the program lets
// go of it, as often as the program has it. The rest goes at once.
func TestAbandon_ViewsInUse_StayUntilTheLastIsLetGo(t *testing.T) {
	arena := mappedArena(t)
	kept, keptThere := mappedFile(t, "kept")
	idle, idleThere := mappedFile(t, "idle")
	const a, b, c, d = 1 << 40, 1<<40 + 1, 1<<40 + 2, 1<<40 + 3
	abandon(arena, map[uint64]*View{a: {inUse: 2}, b: {inUse: 1, file: kept}, c: {file: idle}, d: {}})
	if !readable(t, arena) || !keptThere() {
		t.Fatal("what the program looks at is gone")
	}
	if idleThere() {
		t.Error("a file that nobody looks at is still mapped")
	}
	for _, n := range []uint64{a, c, d, 0, b} {
		DropOrphan(n)
	}
	if keptThere() {
		t.Error("a file whose view was let go is still mapped")
	}
	if !readable(t, arena) {
		t.Error("the arena is gone while one of two uses of a view goes on")
	}
	DropOrphan(b) // it is gone already
	if !readable(t, arena) {
		t.Error("the arena is gone after a view was let go twice")
	}
	DropOrphan(a)
	if readable(t, arena) {
		t.Error("the arena is mapped though nobody looks at it")
	}
	orphansMu.Lock()
	defer orphansMu.Unlock()
	for n := uint64(a); n <= d; n++ {
		if orphans[n] != nil || counts[n] != 0 || files[n] != nil {
			t.Errorf("view %d is not forgotten", n-a)
		}
	}
}

// Where the program looks at nothing the arena goes with the session.
func TestAbandon_NothingInUse_ArenaIsUnmapped(t *testing.T) {
	arena := mappedArena(t)
	abandon(arena, map[uint64]*View{1 << 41: {}})
	if readable(t, arena) {
		t.Error("the arena is still mapped")
	}
}

// A session that ends with views in use counts them, and what it dropped in time is none of them. Dropping works
// through a later session, too.
func TestClose_ProgramLooksAtAView_ALaterSessionTakesItBack(t *testing.T) {
	n, later := newNode(t, true), newNode(t, false)
	before := Orphans()
	var numbers []uint64
	for i := range uint64(3) {
		_, number, err := n.s.Open(n.view(foreign(i)))
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, number)
	}
	n.s.Drop(numbers[0])
	arena := n.s.mapping.Mapping
	n.s.Close()
	if Orphans() != before+2 || !readable(t, arena) {
		t.Fatalf("%d orphans", Orphans()-before)
	}
	n.s.Drop(numbers[1])
	later.s.Drop(numbers[2])
	later.s.Drop(0)
	if Orphans() != before || readable(t, arena) {
		t.Errorf("%d orphans; the arena is mapped: %v", Orphans()-before, readable(t, arena))
	}
}

// A descriptor of an arena that nobody mapped is closed with the session, once.
func TestClose_ArenaWasNeverMapped_DescriptorIsClosed(t *testing.T) {
	fd, err := store.CreateMemory("unmapped", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	s := new(Store)
	s.Close() // without an arena
	s.SetArena(fd, 1<<20)
	s.Close()
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
		t.Errorf("the descriptor is open: %v", err)
	}
	if first, err := s.MapArena(); first || err != nil {
		t.Errorf("mapped after the end: %v, %v", first, err)
	}
}

// What cannot be mapped is an error, and its descriptor is closed.
func TestMapArena_NotMemory_IsAnError(t *testing.T) {
	fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := new(Store)
	s.SetArena(fd, 1<<20)
	if _, err := s.MapArena(); err == nil || !strings.Contains(err.Error(), "map the object arena") {
		t.Errorf("%v", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
		t.Errorf("the descriptor is open: %v", err)
	}
}
