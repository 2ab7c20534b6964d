package client

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/store"
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
	return v, func() bool {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(maps), path)
	}
}

// What a program looks at when its session ends stays until the program lets
// go of it, as often as the program has it. The rest goes at once.
func TestAbandon_ViewsInUse_StayUntilTheLastIsLetGo(t *testing.T) {
	arena := mappedArena(t)
	kept, keptThere := mappedFile(t, "kept")
	idle, idleThere := mappedFile(t, "idle")
	const a, b, c, d = 1 << 40, 1<<40 + 1, 1<<40 + 2, 1<<40 + 3
	abandon(arena, map[uint64]*view{a: {inUse: 2}, b: {inUse: 1, file: kept}, c: {file: idle}, d: {}})
	if !readable(t, arena) || !keptThere() {
		t.Fatal("what the program looks at is gone")
	}
	if idleThere() {
		t.Error("a file that nobody looks at is still mapped")
	}
	DropOrphans([]Drop{{View: a}, {View: c}, {View: d}, {Object: ids.Object{}}, {View: b}})
	if keptThere() {
		t.Error("a file whose view was let go is still mapped")
	}
	if !readable(t, arena) {
		t.Error("the arena is gone while one of two uses of a view goes on")
	}
	DropOrphans([]Drop{{View: b}}) // it is gone already
	if !readable(t, arena) {
		t.Error("the arena is gone after a view was let go twice")
	}
	DropOrphans([]Drop{{View: a}})
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
	abandon(arena, map[uint64]*view{1 << 41: {}})
	if readable(t, arena) {
		t.Error("the arena is still mapped")
	}
}
