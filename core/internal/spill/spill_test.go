package spill

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/tests/await"
)

// memory is where objects are restored to.
type memory []byte

func (m memory) WriteAt(b []byte, at int64) (int, error) { return copy(m[at:], b), nil }

func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Roots == nil {
		o.Roots = []string{t.TempDir()}
	}
	o.Name = "s-test"
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(time.Second) })
	return s
}

func item(n uint64, b []byte) Item { return Item{ids.NewObject(n, ids.Owner{1}, ids.Job{}, 0), b} }

func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	_, _ = rand.NewChaCha8(key).Read(b)
	return b
}

func text(n int) []byte { return bytes.Repeat([]byte("so it goes. "), n/12+1)[:n] }

func TestStore_RestoresWhatItWrote(t *testing.T) {
	s := open(t, Options{})
	want := [][]byte{noise(1, 1), noise(2, 300_001), text(1_000_000), make([]byte, 3<<20), noise(3, 1<<20)}
	var items []Item
	for i, b := range want {
		items = append(items, item(uint64(i), b))
	}
	rs, err := s.Write(items)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		got := make(memory, len(want[i]))
		if err := r.Read(got); err != nil || !bytes.Equal(got, want[i]) {
			t.Errorf("object %d of %d bytes: %v", i, len(want[i]), err)
		}
		small := i == 2 || i == 3
		if r.compressed != small || small && r.Stored()*10 > r.Size() || !small && r.Stored() != r.Size() {
			t.Errorf("object %d: compressed %v, %d bytes of %d", i, r.compressed, r.Stored(), r.Size())
		}
	}
	path := rs[0].Path()
	for _, r := range rs[1:] {
		r.Release()
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file went while an object was in it: %v", err)
	}
	rs[0].Release()
	s.gone.Wait()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file stayed: %v", err)
	}
}

// TestRecord_DamagedAnywhere_IsNoticed flips each bit of the header and some of
// the bytes, and cuts the file at several places.
func TestRecord_DamagedAnywhere_IsNoticed(t *testing.T) {
	for name, b := range map[string][]byte{"raw": noise(1, 5000), "zstd": text(5000)} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{})
			rs, err := s.Write([]Item{item(1, noise(2, 700)), item(2, b)})
			if err != nil {
				t.Fatal(err)
			}
			r := rs[1]
			whole, err := os.ReadFile(r.Path())
			if err != nil {
				t.Fatal(err)
			}
			end := int(r.at) + headerSize + int(r.stored)
			damaged := func(what string, file []byte) {
				t.Helper()
				if err := os.WriteFile(r.Path(), file, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := r.Read(make(memory, len(b))); !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s: %v", what, err)
				}
				if err := rs[0].Read(make(memory, 700)); err != nil {
					t.Errorf("%s: the other object: %v", what, err)
				}
			}
			for at := int(r.at); at < end; at++ {
				if at > int(r.at)+headerSize && at%97 != 0 && at != end-1 {
					continue
				}
				file := bytes.Clone(whole)
				file[at] ^= 1 << (at % 8)
				damaged(fmt.Sprintf("byte %d of the record", at-int(r.at)), file)
			}
			for _, at := range []int{int(r.at), int(r.at) + 10, int(r.at) + headerSize, end - 1} {
				damaged(fmt.Sprintf("cut at %d", at), whole[:at])
			}
			if err := os.Remove(r.Path()); err != nil {
				t.Fatal(err)
			}
			if err := r.Read(make(memory, len(b))); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("without its file: %v", err)
			}
		})
	}
}

// trouble is a file system whose directories can fail or hang.
type trouble struct {
	Disk
	fail func(path string) error // nil: works; may block
}

type troubled struct {
	File
	path string
	fs   trouble
}

func (f trouble) Create(path string) (File, error) {
	w, err := f.Disk.Create(path)
	return &troubled{File: w, path: path, fs: f}, err
}

func (f *troubled) WriteAt(b []byte, at int64) (int, error) {
	if err := f.fs.fail(f.path); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}

func (f *troubled) Allocate(size int64) error {
	if err := f.fs.fail(f.path); err != nil {
		return err
	}
	return f.File.Allocate(size)
}

func TestStore_TakesDirectoriesInTurn_LeavesOutBadOnes(t *testing.T) {
	a, b, c := t.TempDir(), t.TempDir(), t.TempDir()
	var bad string
	s := open(t, Options{Roots: []string{a, b, c}, FS: trouble{fail: func(path string) error {
		if bad != "" && strings.HasPrefix(path, bad) {
			return unix.ENOSPC
		}
		return nil
	}}})
	used := map[string]int{}
	write := func() {
		t.Helper()
		rs, err := s.Write([]Item{item(1, noise(1, 1000))})
		if err != nil {
			t.Fatal(err)
		}
		used[filepath.Dir(filepath.Dir(rs[0].Path()))]++
	}
	for range 6 {
		write()
	}
	if used[a] != 2 || used[b] != 2 || used[c] != 2 {
		t.Errorf("not in turn: %v", used)
	}
	bad = b
	for range 6 {
		write()
	}
	if used[b] != 2 || used[a]+used[c] != 10 {
		t.Errorf("with %s full: %v", b, used)
	}
	if path, err := s.NewFile(1000, false); err != nil || strings.HasPrefix(path, b) {
		t.Errorf("%s, %v", path, err)
	}
}

func TestStore_Full_SaysSo(t *testing.T) {
	for name, o := range map[string]Options{
		"no space":  {FS: trouble{fail: func(string) error { return unix.ENOSPC }}},
		"quota":     {FS: trouble{fail: func(string) error { return unix.EDQUOT }}},
		"threshold": {Full: 1e-9},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, o)
			rs, err := s.Write([]Item{item(1, noise(1, 1000))})
			if !IsFull(err) || rs[0] != nil {
				t.Errorf("write: %v", err)
			}
			if _, err = s.NewFile(1000, false); !IsFull(err) {
				t.Errorf("file: %v", err)
			}
			s.gone.Wait()
			if left, _ := filepath.Glob(s.Dirs()[0] + "/*-*"); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	s := open(t, Options{FS: trouble{fail: func(string) error { return unix.EIO }}})
	if _, err := s.Write([]Item{item(1, noise(1, 10))}); err == nil || IsFull(err) {
		t.Errorf("a broken disk: %v", err)
	}
}

func TestStore_Hanging_OthersAreUsed(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	release := make(chan struct{})
	s := open(t, Options{Roots: []string{a, b}, FS: trouble{fail: func(path string) error {
		if strings.HasPrefix(path, a) {
			<-release
		}
		return nil
	}}})
	done := make(chan error)
	go func() { _, err := s.Write([]Item{item(1, noise(1, 10))}); done <- err }()
	await.Within(t, await.Limit, "a write has begun", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for n := range s.dirs[0].begun {
			s.dirs[0].begun[n] = time.Now().Add(-time.Hour)
		}
		return len(s.dirs[0].begun) > 0
	})
	for range 4 {
		rs, err := s.Write([]Item{item(2, noise(1, 10))})
		if err != nil || strings.HasPrefix(rs[0].Path(), a) {
			t.Fatalf("%v, %v", rs, err)
		}
	}
	s.mu.Lock()
	s.dirs[1].begun[0] = time.Now().Add(-time.Hour)
	s.mu.Unlock()
	if _, err := s.Write([]Item{item(3, noise(1, 10))}); !errors.Is(err, ErrStuck) {
		t.Errorf("all hang: %v", err)
	}
	if _, err := s.NewFile(10, true); !errors.Is(err, ErrStuck) {
		t.Errorf("all hang: %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestStore_PartOfABatch keeps what was written before the disk was full.
func TestStore_PartOfABatch(t *testing.T) {
	writes := 0
	s := open(t, Options{FS: trouble{fail: func(string) error {
		if writes++; writes > 4 { // bytes and header of two objects
			return unix.ENOSPC
		}
		return nil
	}}})
	want := noise(7, 1000)
	rs, err := s.Write([]Item{item(1, want), item(2, want), item(3, want)})
	if !IsFull(err) || rs[0] == nil || rs[1] == nil || rs[2] != nil {
		t.Fatalf("%v, %v", rs, err)
	}
	got := make(memory, len(want))
	if err := rs[1].Read(got); err != nil || !bytes.Equal(got, want) {
		t.Error(err)
	}
}

// TestRecord_Release_GivesItsPartBack: of a file whose other objects live on.
func TestRecord_Release_GivesItsPartBack(t *testing.T) {
	s := open(t, Options{})
	want := noise(4, 4<<20)
	rs, err := s.Write([]Item{item(1, want), item(2, noise(5, 4<<20)), item(3, want)})
	if err != nil {
		t.Fatal(err)
	}
	blocks := func() int64 {
		var st unix.Stat_t
		if err := unix.Stat(rs[0].Path(), &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks * 512
	}
	if blocks() < 12<<20 {
		t.Skip("this file system does not say how much a file takes")
	}
	rs[1].Release()
	s.gone.Wait()
	if got := blocks(); got > 8<<20+64<<10 {
		t.Errorf("the file still takes %d bytes", got)
	}
	for _, i := range []int{0, 2} {
		got := make(memory, len(want))
		if err := rs[i].Read(got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("object %d: %v", i, err)
		}
	}
}

func TestOpen_UnusableDirectory_IsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := t.TempDir()
	if _, err := Open(Options{Roots: []string{good, file}, Name: "s"}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(good); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestStore_DirectoryDeleted_IsMadeAgain(t *testing.T) {
	for _, full := range []float64{0, 1} {
		root := filepath.Join(t.TempDir(), "root")
		s := open(t, Options{Roots: []string{root}, Full: full})
		lost, err := s.Write([]Item{item(1, noise(1, 1000))})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		if err := lost[0].Read(make(memory, 1000)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("read what was deleted: %v", err)
		}
		found, err := s.Write([]Item{item(2, noise(2, 1000))})
		if err != nil {
			t.Fatal(err)
		}
		if err := found[0].Read(make(memory, 1000)); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		if _, err := s.NewFile(1000, true); err != nil {
			t.Error(err)
		}
		Sweep(root) // it is locked as it was
		if _, err := os.Stat(s.Dirs()[0]); err != nil {
			t.Error(err)
		}
		s.Close(time.Second)
		if left, _ := os.ReadDir(root); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

func TestSweep_LockFileDeleted_DirectoryInUseStays(t *testing.T) {
	root := t.TempDir()
	s := open(t, Options{Roots: []string{root}})
	if err := os.Remove(filepath.Join(s.Dirs()[0], lockFile)); err != nil {
		t.Fatal(err)
	}
	Sweep(root)
	if _, err := os.Stat(s.Dirs()[0]); err != nil {
		t.Error(err)
	}
	s.dirs[0].unlock()
	Sweep(root)
	if left, _ := os.ReadDir(root); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestSweep_RemovesWhatKilledProcessesLeft(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a[b]*c") // a pattern's marks
	live := open(t, Options{Roots: []string{root, root}})
	dead, err := makeDir(root, "s-dead", 0)
	if err != nil {
		t.Fatal(err)
	}
	dead.unlock() // as if its process had been killed
	other := filepath.Join(root, "mine")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	Sweep(root)
	if _, err := os.Stat(dead.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
	if SweepDir(other) == nil {
		t.Error("a directory of somebody else was taken for ours")
	}
	for _, dir := range append(live.Dirs(), other) {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
	live.Close(time.Second)
	if left, _ := os.ReadDir(root); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
