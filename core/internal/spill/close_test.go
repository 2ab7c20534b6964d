package spill

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/tests/await"
)

// gated is a file system whose Create waits until the test lets it go on.
type gated struct {
	Disk
	begun, goOn chan struct{}
	once        sync.Once
}

func (g *gated) Create(path string) (File, error) {
	g.once.Do(func() {
		close(g.begun)
		<-g.goOn
	})
	return g.Disk.Create(path)
}

// duringWrite returns a Store that writes a file, and a channel that tells the end of the write.
func duringWrite(t *testing.T) (s *Store, g *gated, written chan error) {
	t.Helper()
	g = &gated{begun: make(chan struct{}), goOn: make(chan struct{})}
	s = open(t, Options{FS: g})
	written = make(chan error, 1)
	go func() {
		_, err := s.Write([]Item{item(1, noise(1, 5000))})
		written <- err
	}()
	<-g.begun
	return s, g, written
}

// A Store is closed while a batch is being written: the directory goes after it, and
// is not made again by it.
func TestClose_DuringAWrite_NothingIsLeft(t *testing.T) {
	s, g, written := duringWrite(t)
	closed := make(chan struct{})
	go func() {
		s.Close(time.Minute)
		close(closed)
	}()
	await.Within(t, await.Limit, "the Store is closed", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.closed
	})
	close(g.goOn)
	if err := <-written; err != nil {
		t.Errorf("what was being written failed: %v", err)
	}
	<-closed
	if left, err := os.ReadDir(filepath.Dir(s.Dirs()[0])); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := s.Write([]Item{item(2, noise(2, 10))}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed Store writes: %v", err)
	}
	if _, err := s.NewFile(10, true); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed Store makes a file: %v", err)
	}
}

// A write that hangs is not waited for beyond the limit, and its directory does not
// come back when it goes on.
func TestClose_DuringAWriteThatHangs_DirectoryGoesAndStaysAway(t *testing.T) {
	s, g, written := duringWrite(t)
	s.Close(20 * time.Millisecond)
	awaitNoDir(t, s)
	close(g.goOn)
	if err := <-written; !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a write without a directory: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(s.Dirs()[0])); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// awaitNoDir waits until the Store's first directory is gone.
func awaitNoDir(t *testing.T, s *Store) {
	t.Helper()
	await.Within(t, await.Limit, "the directory is gone", func() bool {
		_, err := os.Stat(s.Dirs()[0])
		return errors.Is(err, os.ErrNotExist)
	})
}

func TestOpen_NoDirectoryOrOneThatCannotBe_IsAnError(t *testing.T) {
	if _, err := Open(Options{}); err == nil {
		t.Error("a Store without a directory is opened")
	}
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Roots: []string{filepath.Join(root, "good"), file}, Name: "s"}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file is taken for a directory, or the error does not name it: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(root, "good")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A file that stands for memory has its size, takes an object, and goes when it is removed.
func TestNewFile_IsFilledAndRemoved(t *testing.T) {
	s := open(t, Options{})
	b := text(100_000)
	rs, err := s.Write([]Item{item(1, b)})
	if err != nil {
		t.Fatal(err)
	}
	path, err := s.NewFile(uint64(len(b))+7, false)
	if err != nil || filepath.Dir(path) != s.Dirs()[0] {
		t.Fatalf("%s, %v", path, err)
	}
	if st, err := os.Stat(path); err != nil || st.Size() != int64(len(b))+7 {
		t.Errorf("%v, %v", st, err)
	}
	if err := s.Fill(path, rs[0]); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got[:len(b)], b) {
		t.Errorf("the file has something else, %v", err)
	}
	s.Remove(path)
	s.gone.Wait()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file stays: %v", err)
	}
	if err := s.Fill(path, rs[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone is filled: %v", err)
	}
	if _, err := s.NewFile(math.MaxInt64+1, true); !IsFull(err) {
		t.Errorf("a file of more bytes than any has: %v", err)
	}
}

// cramped is a file system on which nothing can be allocated.
type cramped struct{ Disk }

type crampedFile struct{ File }

func (crampedFile) Allocate(int64) error { return unix.ENOSPC }

func (c cramped) Create(path string) (File, error) {
	f, err := c.Disk.Create(path)
	return crampedFile{f}, err
}

func TestNewFile_NoRoom_LeavesNoFileAndTriesEachDirectory(t *testing.T) {
	roots := []string{t.TempDir(), t.TempDir()}
	s := open(t, Options{FS: cramped{}, Roots: roots})
	if _, err := s.NewFile(10, false); !IsFull(err) {
		t.Errorf("got %v", err)
	}
	s.gone.Wait()
	for _, dir := range s.Dirs() {
		if left, _ := filepath.Glob(filepath.Join(dir, "memory-*")); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// Once something has gone from a disk that was full, that disk is tried again at once;
// one with another trouble is left out for its time.
func TestRetry_OnlyFullDirectoriesAreTriedAgain(t *testing.T) {
	s := open(t, Options{Roots: []string{t.TempDir(), t.TempDir()}})
	later := time.Now().Add(time.Hour)
	s.dirs[0].bad, s.dirs[0].until = ErrFull, later
	s.dirs[1].bad, s.dirs[1].until = unix.EIO, later
	if _, err := s.NewFile(1, true); !IsFull(err) {
		t.Errorf("directories that are left out are used: %v", err)
	}
	s.Remove(filepath.Join(s.Dirs()[0], "nothing"))
	s.gone.Wait()
	for range 2 {
		path, err := s.NewFile(1, true)
		if err != nil || filepath.Dir(path) != s.Dirs()[0] {
			t.Errorf("a file in %s, %v", path, err)
		}
	}
}

// What a write cost is measured only where the page cache is bounded, and not for
// what is compressed, which costs more than the cache.
func TestWriteCached_OnlyRawBytesUnderABoundAreMeasured(t *testing.T) {
	for what, x := range map[string]struct {
		cache    func() uint64
		b        []byte
		measured int64
	}{
		"raw, bounded":        {func() uint64 { return 1 << 40 }, noise(1, 5000), 5000},
		"raw, no bound":       {nil, noise(1, 5000), 0},
		"compressed, bounded": {func() uint64 { return 1 << 40 }, text(5000), 0},
	} {
		s := open(t, Options{Cache: x.cache})
		if _, err := s.Write([]Item{item(1, x.b)}); err != nil {
			t.Fatal(err)
		}
		if got := s.cost.bytes; got != x.measured {
			t.Errorf("%s: %d bytes are measured, want %d", what, got, x.measured)
		}
	}
}

// What lies in the page cache is counted while its records live.
func TestCached_CountsRecordsThatLive(t *testing.T) {
	s := open(t, Options{Cache: func() uint64 { return 10_000 }})
	rs, err := s.Write([]Item{item(1, noise(1, 4000)), item(2, noise(2, 6000))})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.cached.Load(); got != 10_000 || !s.cacheTakes(nil, nil) {
		t.Errorf("%d bytes are in the page cache, want 10000", got)
	}
	more := []Item{item(3, noise(3, 1))}
	if s.cacheTakes(more, make([]*Record, 1)) {
		t.Error("the page cache takes a byte more than it may")
	}
	if !s.cacheTakes(more, rs[:1]) {
		t.Error("what is written already counts twice")
	}
	rs[0].Release()
	if got := s.cached.Load(); got != 6000 || !s.cacheTakes(more, make([]*Record, 1)) {
		t.Errorf("%d bytes are in the page cache, want 6000", got)
	}
}
