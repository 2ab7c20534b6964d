package objects

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// An Open that fails closes what it had opened.
func TestOpen_DirectoryIsAFile_LeavesNothingOpen(t *testing.T) {
	o := quietStore(t, 1<<20)
	file := filepath.Join(o.Dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Spill.Roots = []string{file}
	before := openFiles(t)
	s, err := Open(o)
	if err == nil {
		s.Close()
		t.Fatal("a file was taken for a directory")
	}
	var unusable *SpillError
	if !errors.As(err, &unusable) {
		t.Errorf("got %v, want an error that says which directory cannot be used", err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files are open, before it were %d", after, before)
	}
}

// A store that stopped answers nothing, and stopping twice or closing after that is
// no error.
func TestStop_OrderIsAnsweredLater_NothingHappens(t *testing.T) {
	s, err := Open(quietStore(t, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	called := 0
	s.answer(func() { called++ })
	s.Stop()
	s.Stop()
	s.answer(func() { called++ })
	if called != 1 {
		t.Errorf("%d orders are answered, want the one before Stop", called)
	}
	s.Close()
}
