package objects

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// openFiles counts the descriptors of this process.
// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	// Go's network poller keeps two descriptors from the first pipe, socket or file on: they are there from the first count on.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
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
	if after := openFiles(t); after > before {
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

// A store that is closed gives its descriptors back, also when objects were spilled.
func TestClose_LeavesNothingOpen(t *testing.T) {
	before := openFiles(t)
	o := quietStore(t, 4*mib)
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 8)
	c := &proc{}
	for n := range uint64(8) {
		id := owned(1, n)
		o.Lock.Lock()
		s.Create(c, id, mib, func(_ Place, err error) {
			if err == nil {
				err = s.Seal(c, id)
			}
			done <- err
		})
		o.Lock.Unlock()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	o.Lock.Lock()
	if st := s.Stats(); st.More["spill_objects"] == 0 {
		t.Errorf("nothing was spilled: %v", st.More)
	}
	s.Stop()
	s.Create(c, owned(1, 9), 4*mib, func(Place, error) {}) // an order that comes too late
	o.Lock.Unlock()
	s.Close()
	// A batch that was being written may end a moment later.
	for end := time.Now().Add(10 * time.Second); openFiles(t) > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, before it were %d", after, before)
	}
}

// An order that hangs keeps the mapping until it is over, so that it does not read
// memory that is gone.
func TestClose_OrderHangs_MappingStaysUntilItEnds(t *testing.T) {
	s, err := Open(quietStore(t, mib))
	if err != nil {
		t.Fatal(err)
	}
	s.spill.users.Add(1) // the order that hangs
	s.Close()
	b, err := s.spill.arena.Slice(0, mib)
	if err != nil {
		t.Fatalf("the mapping is gone while an order uses it: %v", err)
	}
	if b[mib-1] != 0 { // reading memory that is gone would end the test
		t.Error("memory that nobody wrote is not zero")
	}
	s.spill.unuse()
	if _, err := s.spill.arena.Slice(0, mib); err == nil {
		t.Error("the mapping stays after the last order")
	}
}
