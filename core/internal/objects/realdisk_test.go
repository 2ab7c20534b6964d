package objects

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/spill"
)

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

// realStore is a store with a disk, and a process that uses it.
type realStore struct {
	t *testing.T
	*Store
	c *proc
}

func openReal(t *testing.T, o Options) *realStore {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &realStore{t, s, &proc{}}
}

// locked runs f under the store's lock.
func (s *realStore) locked(f func()) {
	s.o.Lock.Lock()
	defer s.o.Lock.Unlock()
	f()
}

// answered is what a request of the store was answered.
type answered struct {
	at   Place
	size uint64
	err  error
}

func (s *realStore) await(c chan answered, what string) answered {
	s.t.Helper()
	select {
	case x := <-c:
		return x
	case <-time.After(patience):
		s.t.Fatalf("no answer: %s", what)
		return answered{}
	}
}

// put writes an object as a process does, and seals it.
func (s *realStore) put(id ids.Object, b []byte) {
	s.t.Helper()
	done := make(chan answered, 1)
	s.locked(func() {
		s.Create(s.c, id, uint64(len(b)), func(at Place, err error) { done <- answered{at: at, err: err} })
	})
	x := s.await(done, "room for an object")
	if x.err != nil {
		s.t.Fatal(x.err)
	}
	if x.at.Path == "" {
		if err := s.spill.arena.WriteAt(x.at.Off, b); err != nil {
			s.t.Fatal(err)
		}
	} else {
		f, err := os.OpenFile(x.at.Path, os.O_WRONLY, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := f.WriteAt(b, int64(x.at.Off)); err != nil {
			s.t.Error(err)
		}
		f.Close()
	}
	s.locked(func() {
		if err := s.Seal(s.c, id); err != nil {
			s.t.Error(err)
		}
	})
}

// get pins an object and returns its place and a copy of its bytes.
func (s *realStore) get(id ids.Object) (Place, []byte, error) {
	s.t.Helper()
	done := make(chan answered, 1)
	s.locked(func() {
		s.Pin(s.c, id, func(at Place, size uint64, err error) { done <- answered{at, size, err} })
	})
	x := s.await(done, "an object")
	if x.err != nil {
		return x.at, nil, x.err
	}
	if x.at.Path == "" {
		b, err := s.spill.arena.Slice(x.at.Off, x.size)
		return x.at, bytes.Clone(b), err
	}
	f, err := os.Open(x.at.Path)
	if err != nil {
		return x.at, nil, err
	}
	defer f.Close()
	b := make([]byte, x.size)
	_, err = f.ReadAt(b, int64(x.at.Off))
	return x.at, b, err
}

func (s *realStore) where(id ids.Object) (w Whereabouts) {
	s.locked(func() { w, _ = s.Find(id) })
	return w
}

// settled waits until no order is under way.
func (s *realStore) settled() {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
		idle := false
		s.locked(func() { idle = s.spill.writing == 0 && s.spill.reading == 0 && s.waiting == 0 })
		if idle {
			return
		}
		if time.Now().After(end) {
			s.t.Fatal("the store does not come to rest")
		}
	}
}

func noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), 7}).Read(b)
	return b
}

// Three times as much as the arena holds: each object comes back as it was written,
// be it from the arena, from where it lies on disk, or read back into memory.
func TestStore_MoreThanTheArenaHolds_EachObjectComesBack(t *testing.T) {
	o := quietStore(t, 4*mib)
	s := openReal(t, o)
	const n = 24
	want := map[uint64][]byte{}
	for i := range uint64(n) {
		want[i] = noise(i, mib/2)
		if i%4 == 3 { // compressed on disk, so it cannot be read there
			want[i] = bytes.Repeat([]byte{byte(i), 'x'}, mib/4)
		}
		s.put(owned(1, i), want[i])
	}
	places := map[string]int{}
	for round := range 2 {
		for i := range uint64(n) {
			places[s.where(owned(1, i)).Where]++
			at, got, err := s.get(owned(1, i))
			if err != nil || !bytes.Equal(got, want[i]) {
				t.Errorf("round %d, object %d at %+v: %v", round, i, at, err)
			}
			if w := s.where(owned(1, i)); w.Pins != 1 || w.Size != mib/2 {
				t.Errorf("object %d is pinned by %d, %d bytes", i, w.Pins, w.Size)
			}
			s.locked(func() { s.Unpin(s.c, owned(1, i)) })
		}
	}
	if places["spilled"] == 0 || places["arena"] == 0 || len(places) > 2 {
		t.Errorf("the objects were found in %v", places)
	}
	s.settled()
	s.locked(func() {
		more := s.Stats().More
		if more["spill_objects"] < n/2 || more["spill_bytes"] != more["spill_objects"]*(mib/2) || more["spill_stored_bytes"] == 0 || more["spill_stored_bytes"] >= more["spill_bytes"] {
			t.Errorf("counted: %v", more)
		}
		if more["restore_objects"] == 0 || more["restore_bytes"] != more["restore_objects"]*(mib/2) || more["spill_files"] == 0 || more["spill_files"] > more["spill_objects"] {
			t.Errorf("counted: %v", more)
		}
		if s.spillTime <= 0 || s.restoreTime <= 0 || s.spillTime > patience || s.restoreTime > patience {
			t.Errorf("writing took %v, reading %v", s.spillTime, s.restoreTime)
		}
		for i := range uint64(n) {
			s.Free(s.c, owned(1, i))
		}
		if st := s.Stats(); st.Objects != 0 || st.Used != 0 || st.Pinned != 0 {
			t.Errorf("all is freed, and left are %+v", st)
		}
	})
	s.noFiles(o)
}

// noFiles waits until nothing that was spilled is left.
func (s *realStore) noFiles(o Options) {
	s.t.Helper()
	var left []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		left = nil
		for _, pattern := range []string{"objects-*", "memory-*"} {
			found, _ := filepath.Glob(filepath.Join(o.Dir, "*", pattern)) // the pattern is right
			left = append(left, found...)
		}
		if len(left) == 0 {
			return
		}
	}
	s.t.Errorf("left on disk: %v", left)
}

// An object that is larger than the arena is written to a file, also after the
// arena was full, and its room on disk is given back.
func TestStore_ObjectLargerThanTheArena_LiesInAFile(t *testing.T) {
	o := quietStore(t, mib)
	s := openReal(t, o)
	id, want := owned(1, 1), noise(1, 3*mib)
	s.put(id, want)
	at, got, err := s.get(id)
	if err != nil || at.Path == "" || !bytes.Equal(got, want) {
		t.Errorf("at %+v: %v", at, err)
	}
	if st, err := os.Stat(at.Path); err != nil || st.Size() != 3*mib {
		t.Errorf("the file: %v, %v", st, err)
	}
	if w := s.where(id); w.Where != "file" {
		t.Errorf("it is said to be in %q", w.Where)
	}
	s.locked(func() {
		if more := s.Stats().More; more["file_objects"] != 1 || more["file_bytes"] != 3*mib {
			t.Errorf("counted: %v", more)
		}
		s.Unpin(s.c, id)
		s.Free(s.c, id)
		if more := s.Stats().More; more["file_objects"] != 0 || more["file_bytes"] != 0 {
			t.Errorf("counted after it was freed: %v", more)
		}
	})
	s.noFiles(o)
}

// spilled puts objects until the first is on disk only, and returns its bytes.
func (s *realStore) spilled(id ids.Object) []byte {
	s.t.Helper()
	b := noise(77, mib/2)
	s.put(id, b)
	for n := uint64(100); s.where(id).Where != "spilled"; n++ {
		if n > 300 {
			s.t.Fatal("it is never spilled")
		}
		s.put(owned(2, n), noise(n, mib/2))
	}
	s.settled()
	return b
}

// A copy on disk that was damaged is noticed when it is read, and the object is lost.
func TestStore_CopyIsDamaged_ReaderIsToldThatItIsLost(t *testing.T) {
	o := quietStore(t, 4*mib)
	o.Spill.MinBytes = 1 // each object in a file of its own
	s := openReal(t, o)
	id := owned(1, 1)
	s.put(id, bytes.Repeat([]byte("zz"), mib/4)) // compressed, so that it is read back
	for n := uint64(100); s.where(id).Where != "spilled"; n++ {
		if n > 300 {
			t.Fatal("it is never spilled")
		}
		s.put(owned(2, n), noise(n, mib/2))
	}
	s.settled()
	var path string
	s.locked(func() { path = s.table[id].disk.(*spill.Record).Path() })
	if err := os.Truncate(path, 70); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.get(id); err == nil {
		t.Error("an object whose copy is damaged is read")
	}
	s.locked(func() {
		if s.Has(id) {
			t.Error("an object that is lost is said to be there")
		}
	})
}

// What a stopped store orders is not carried out: nobody needs it, and the memory may be gone.
func TestStore_StoppedWhileAnObjectComesBack_NothingIsAnswered(t *testing.T) {
	s := openReal(t, quietStore(t, 4*mib))
	id := owned(1, 1)
	s.spilled(id)
	s.locked(func() {
		s.Stop()
		users := s.spill.users.Load()
		s.spill.restore(s.table[id], Place{})
		s.spill.write(&batch{objects: []*object{s.table[id]}})
		if got := s.spill.users.Load(); got != users || s.spill.reading != 0 || s.spill.writing != 0 {
			t.Errorf("a stopped store has %d orders under way", got-users)
		}
	})
}

// No more objects are read at a time than is allowed.
func TestStore_ReadersAreBounded(t *testing.T) {
	o := quietStore(t, 4*mib)
	o.Spill.Readers = 1
	s := openReal(t, o)
	id := owned(1, 1)
	want := s.spilled(id)
	s.spill.readers <- struct{}{} // another object is being read
	done := make(chan answered, 1)
	s.locked(func() {
		s.table[id].wanted = true // so that it is read into memory
		s.Pin(s.c, id, func(at Place, size uint64, err error) { done <- answered{at, size, err} })
	})
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Microsecond) {
		reading := 0
		s.locked(func() { reading = s.spill.reading })
		if reading == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the object is not read")
		}
	}
	if w := s.where(id); w.Where != "restoring" {
		t.Errorf("an object that is being read is said to be in %q", w.Where)
	}
	select {
	case <-done:
		t.Fatal("two objects are read at a time, one is allowed")
	default:
	}
	<-s.spill.readers
	x := s.await(done, "the object")
	if x.err != nil || x.at.Path != "" {
		t.Fatalf("%+v", x)
	}
	if got, err := s.spill.arena.Slice(x.at.Off, x.size); err != nil || !bytes.Equal(got, want) {
		t.Errorf("another object came back, %v", err)
	}
	s.settled()
	s.locked(func() { s.Unpin(s.c, id) })
}

// short is a file system that now and then has no descriptor left.
type short struct {
	spill.Disk
	mu    sync.Mutex
	fails int
}

func (f *short) Open(path string) (spill.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails > 0 {
		f.fails--
		return nil, &os.PathError{Op: "open", Path: path, Err: unix.EMFILE}
	}
	return f.Disk.Open(path)
}

func (f *short) Direct(path string, write bool) (spill.DirectFile, error) {
	return nil, &os.PathError{Op: "open", Path: path, Err: unix.EINVAL}
}

// An object is not lost because the process has no descriptor left for a moment.
func TestStore_NoDescriptorIsLeftForAWhile_ObjectIsReadLater(t *testing.T) {
	fs := &short{}
	o := quietStore(t, 4*mib)
	o.Spill.FS = fs
	s := openReal(t, o)
	id := owned(1, 1)
	want := s.spilled(id)
	fs.mu.Lock()
	fs.fails = 3
	fs.mu.Unlock()
	s.locked(func() { s.table[id].wanted = true })
	if _, got, err := s.get(id); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.fails != 0 {
		t.Errorf("the file was not opened: %d failures are left", fs.fails)
	}
}

// What a killed daemon has spilled is found by the session's file and removed;
// what another one uses stays.
func TestSweepSpilled_RemovesWhatNobodyUses(t *testing.T) {
	o := quietStore(t, mib)
	s := openReal(t, o)
	dirs := s.spill.disk.Dirs()
	SweepSpilled(o.Dir)
	if _, err := os.Stat(dirs[0]); err != nil {
		t.Errorf("a directory in use is removed: %v", err)
	}
	session := t.TempDir()
	left := filepath.Join(session, "eagleray_spilled_s")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "objects-1"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	SweepSpilled(session) // there is no file that says where it spilled to
	if _, err := os.Stat(left); err != nil {
		t.Errorf("a directory that no session names is removed: %v", err)
	}
	if err := os.WriteFile(filepath.Join(session, spilledName), []byte(dirs[0]+"\n"+left+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	SweepSpilled(session)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed daemon has spilled is left: %v", err)
	}
	if _, err := os.Stat(dirs[0]); err != nil {
		t.Errorf("a directory in use is removed: %v", err)
	}
	name := filepath.Join(session, spilledName)
	if _, err := os.Stat(name); err != nil {
		t.Errorf("the names of directories in use are forgotten: %v", err)
	}
	if err := os.WriteFile(name, []byte(left+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	SweepSpilled(session)
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the names of directories that are gone stay: %v", err)
	}
}

func TestSendTo_TheOtherEndGetsTheArenaAndTheText(t *testing.T) {
	s := openReal(t, quietStore(t, mib))
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	f := os.NewFile(uintptr(fds[1]), "the other end")
	defer f.Close()
	if err := s.SendTo(fds[0], []byte("arena")); err != nil {
		t.Fatal(err)
	}
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text, rights := make([]byte, 9), make([]byte, 99)
	n, rn, _, _, err := c.(*net.UnixConn).ReadMsgUnix(text, rights)
	if err != nil || string(text[:n]) != "arena" {
		t.Fatalf("read %q, %v", text[:n], err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil || len(messages) != 1 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	got, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(got) != 1 {
		t.Fatalf("descriptors %v, %v", got, err)
	}
	defer unix.Close(got[0])
	var sent, came unix.Stat_t
	if unix.Fstat(s.FD(), &sent) != nil || unix.Fstat(got[0], &came) != nil || sent.Ino != came.Ino {
		t.Error("another descriptor came than the arena's")
	}
}

// A session directory that cannot be written to leaves nothing open or locked.
func TestOpen_SessionDirectoryCannotBeWritten_LeavesNothingBehind(t *testing.T) {
	o := quietStore(t, mib)
	root := t.TempDir()
	o.Spill.Roots = []string{root}
	if err := os.Mkdir(filepath.Join(o.Dir, spilledName), 0o700); err != nil { // where the file belongs
		t.Fatal(err)
	}
	before := openFiles(t)
	s, err := Open(o)
	if err == nil {
		s.Close()
		t.Fatal("a store was opened though nobody could find what it spills")
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, before it were %d", after, before)
	}
	if left, _ := os.ReadDir(root); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOpen_NoMemoryOfThatSize_IsAnError(t *testing.T) {
	before := openFiles(t)
	if s, err := Open(Options{Bytes: 1 << 63, Dir: t.TempDir(), Lock: new(sync.Mutex), Log: slog.New(slog.DiscardHandler)}); err == nil {
		s.Close()
		t.Error("a store of more bytes than there are addresses was opened")
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, before it were %d", after, before)
	}
}

func TestSpillError_SaysWhatFailed(t *testing.T) {
	if err := error(&SpillError{os.ErrPermission}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v does not hold its cause", err)
	}
}
