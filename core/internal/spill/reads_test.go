package spill

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// unreadable is a file system whose files fail from a place on.
type unreadable struct {
	Disk
	from int64
	err  error
}

type unreadableFile struct {
	File
	fs *unreadable
}

func (f unreadableFile) ReadAt(b []byte, at int64) (int, error) {
	if f.fs.err != nil && at >= f.fs.from {
		return 0, f.fs.err
	}
	return f.File.ReadAt(b, at)
}

func (u *unreadable) Open(path string) (File, error) {
	f, err := u.Disk.Open(path)
	return unreadableFile{f, u}, err
}

// A disk that fails is told from a copy that is damaged: the object may be read later.
func TestRead_DiskFails_IsNotTakenForDamage(t *testing.T) {
	for what, b := range map[string][]byte{"raw": noise(1, 5000), "header": nil} {
		fs := &unreadable{}
		s := open(t, Options{FS: fs})
		rs, err := s.Write([]Item{item(1, b)})
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 {
			fs.from = rs[0].at + headerSize
		}
		fs.err = unix.EIO
		if err := rs[0].Read(make(memory, len(b))); !errors.Is(err, unix.EIO) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
		fs.err = nil
		if err := rs[0].Read(make(memory, len(b))); err != nil {
			t.Errorf("%s: the disk works again: %v", what, err)
		}
	}
}

// narrow is a destination that takes nothing.
type narrow struct{}

func (narrow) WriteAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

func TestRead_DestinationFails_IsTold(t *testing.T) {
	s := open(t, Options{})
	for _, b := range [][]byte{noise(1, 5000), text(5000)} {
		rs, err := s.Write([]Item{item(1, b)})
		if err != nil {
			t.Fatal(err)
		}
		if err := rs[0].Read(narrow{}); !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

func TestRaw_WhereAnObjectLies(t *testing.T) {
	s := open(t, Options{})
	rs, err := s.Write([]Item{item(1, []byte{7}), item(2, nil), item(3, text(5000)), item(4, noise(4, 100))})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false, true} {
		path, off, ok := rs[i].Raw()
		if ok != want || path != rs[i].Path() {
			t.Errorf("object %d lies in %s uncompressed: %v, want %v", i, path, ok, want)
		}
		if !ok {
			continue
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := map[int][]byte{0: {7}, 3: noise(4, 100)}[i]
		if got := file[off:][:rs[i].Size()]; string(got) != string(want) {
			t.Errorf("object %d is not at %d", i, off)
		}
		if rs[i].at%recordAlign != 0 {
			t.Errorf("object %d begins at %d, want a multiple of %d", i, rs[i].at, recordAlign)
		}
	}
}

// What is spilled is only for the user whose session it is.
func TestMakeDir_OnlyItsUserMayLook(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a", "root")
	d, err := makeDir(root, "name", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.remove()
	for _, x := range []struct {
		path string
		want os.FileMode
	}{{root, 0o700}, {d.path, 0o700}, {filepath.Join(d.path, lockFile), 0o600}} {
		if st, err := os.Stat(x.path); err != nil || st.Mode().Perm() != x.want {
			t.Errorf("%s has mode %v, want %v; %v", x.path, st.Mode().Perm(), x.want, err)
		}
	}
}

// Parts are moved in the order of the file, however much is moved at a time, and a move of
// nothing or an error ends it.
func TestMove_AnyAmountAtATime_MovesAllInOrder(t *testing.T) {
	whole := noise(1, 100)
	for step := 1; step <= 101; step++ {
		var got []byte
		n, err := move([][]byte{whole[:10], whole[10:11], whole[11:60], whole[60:]}, 1000, func(bufs [][]byte, at int64) (int, error) {
			if at != 1000+int64(len(got)) {
				t.Fatalf("steps of %d: %d bytes are to be moved to %d", step, len(got), at)
			}
			left := step
			for _, b := range bufs {
				b = b[:min(left, len(b))]
				got, left = append(got, b...), left-len(b)
			}
			return step - left, nil
		})
		if n != 100 || err != nil || string(got) != string(whole) {
			t.Errorf("steps of %d: moved %d, %v", step, n, err)
		}
	}
	for _, fails := range []error{nil, io.ErrClosedPipe} {
		calls := 0
		n, err := move([][]byte{whole}, 0, func([][]byte, int64) (int, error) {
			if calls++; calls == 1 {
				return 7, nil
			}
			return 0, fails
		})
		if n != 7 || err != fails || calls != 2 {
			t.Errorf("moved %d in %d calls, %v; want 7 in 2, %v", n, calls, err, fails)
		}
	}
}
