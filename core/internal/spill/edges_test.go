package spill

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// locked says whether somebody holds the lock of a file or directory.
func locked(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// A directory in use is locked twice, and neither lock outlives its owner; a
// second use of the same root has a name of its own.
func TestMakeDir_LocksItselfAndItsFile(t *testing.T) {
	root := filepath.Join(t.TempDir(), "deep", "root")
	first, err := makeDir(root, "name", 0)
	if err != nil {
		t.Fatal(err)
	}
	second, err := makeDir(root, "name", 1)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(first.path) != prefix+"name" || filepath.Base(second.path) != prefix+"name-1" || filepath.Dir(first.path) != root {
		t.Errorf("made %s and %s", first.path, second.path)
	}
	lock := filepath.Join(first.path, lockFile)
	if !locked(t, first.path) || !locked(t, lock) {
		t.Error("a directory in use is not locked")
	}
	if err := SweepDir(first.path); !errors.Is(err, unix.EWOULDBLOCK) || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("swept while in use: %v", err)
	}
	first.unlock()
	if locked(t, first.path) || locked(t, lock) || !locked(t, second.path) {
		t.Error("another directory was let go")
	}
	if _, err := makeDir(root, "name", 0); err == nil {
		t.Error("a directory that is there is made again")
	}
	if left, _ := filepath.Glob(filepath.Join(root, unfinished+"*")); len(left) > 0 {
		t.Errorf("left unfinished: %v", left)
	}
	second.remove()
	if _, err := os.Stat(second.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("not removed: %v", err)
	}
	if err := SweepDir(first.path); err != nil {
		t.Errorf("not swept: %v", err)
	}
}

// Only a directory that a Store of this user has left is swept, and one that
// is being made only after a while.
func TestSweepDir_WhatIsNotOurs_StaysAndIsAnError(t *testing.T) {
	root := t.TempDir()
	path := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{"other", unfinished + "young", unfinished + "old"} {
		if err := os.Mkdir(path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path(prefix+"file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-unfinishedAfter - time.Second)
	if err := os.Chtimes(path(unfinished+"old"), before, before); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		"none": "no such file", "other": "does not hold spilled objects", prefix + "file": "is not a directory of ours", unfinished + "young": "is being made",
	} {
		if err := SweepDir(path(name)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := SweepDir(path(unfinished + "old")); err != nil {
		t.Errorf("an old one: %v", err)
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) != 3 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A directory is made again only for the error that says that it is gone.
func TestDir_Renew_OnlyWhenItIsGone(t *testing.T) {
	d, err := makeDir(t.TempDir(), "name", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.remove()
	if d.recreate(nil) || d.recreate(unix.ENOSPC) {
		t.Error("another error has it made again")
	}
	held := d.lock
	if !d.recreate(os.ErrNotExist) || d.lock != held {
		t.Error("it is there: the write is to be tried again, and nothing is made")
	}
	if err := os.RemoveAll(d.path); err != nil {
		t.Fatal(err)
	}
	if !d.recreate(os.ErrNotExist) || d.lock == held || !locked(t, d.path) || !locked(t, filepath.Join(d.path, lockFile)) {
		t.Error("it is not made again, or not locked")
	}
	if _, err := held.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the lock of the deleted one is still open: %v", err)
	}
}

// A record is gone when its file is, or ends before its last byte.
func TestRecord_Gone_OnlyWhenItIsCertain(t *testing.T) {
	s := open(t, Options{})
	rs, err := s.Write([]Item{item(1, noise(1, 5000)), item(2, noise(2, 3000)), item(3, nil)})
	if err != nil {
		t.Fatal(err)
	}
	end := rs[1].at + headerSize + int64(rs[1].stored)
	for _, c := range []struct {
		size           int64
		first, second  bool
		firstAndSecond string
	}{{end, false, false, "whole"}, {rs[1].at + int64(rs[1].stored), false, false, "the header may be longer"}, {rs[1].at + int64(rs[1].stored) - 1, false, true, "cut"}, {10, true, true, "short"}} {
		if err := os.Truncate(rs[0].Path(), c.size); err != nil {
			t.Fatal(err)
		}
		if a, b := rs[0].Gone(), rs[1].Gone(); a != c.first || b != c.second {
			t.Errorf("%s: got %v and %v", c.firstAndSecond, a, b)
		}
	}
	if rs[2].Gone() {
		t.Error("a record of nothing is gone while its file is there")
	}
	if err := os.Remove(rs[0].Path()); err != nil {
		t.Fatal(err)
	}
	if !rs[0].Gone() || !rs[2].Gone() {
		t.Error("without its file a record is not gone")
	}
}

// The page cache is measured over exactly so many bytes, and passed by only
// when it costs more than is allowed.
func TestCacheCost_ExactBorders(t *testing.T) {
	atMost := time.Duration(float64(costLimit) * float64(measuredBytes) / gigabyte)
	for _, c := range []struct {
		n     int64
		spent time.Duration
		away  int64
		kept  int64 // bytes that the next measurement begins with
	}{
		{measuredBytes, atMost, 0, 0}, {measuredBytes, atMost + time.Microsecond, bypassBytes, 0}, {measuredBytes - 1, time.Hour, 0, measuredBytes - 1}, {0, 0, 0, 0},
	} {
		var w cacheCost
		w.note(c.n, c.spent)
		if w.bypass != c.away || w.bytes != c.kept || (w.spent != 0) != (c.kept > 0) {
			t.Errorf("%d bytes in %v: %+v", c.n, c.spent, &w)
		}
	}
	w := cacheCost{bypass: 10}
	for i, want := range []bool{false, false, true, true} {
		if got := w.takes(6); got != want {
			t.Errorf("%d: takes %v", i, got)
		}
	}
	ran := false
	if err := w.measure(5, func() error { ran = true; return io.EOF }); !errors.Is(err, io.EOF) || !ran || w.bytes != 5 {
		t.Errorf("measured: %v, %v, %+v", err, ran, &w)
	}
}

// A thread's time grows while it computes.
func TestThreadTime_Grows(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	for deadline := time.Now().Add(time.Minute); threadTime() <= before; {
		if time.Now().After(deadline) {
			t.Fatalf("it stays %v", before)
		}
	}
}

// Bytes are looked at by their frequency, and probed as a whole where they are few.
func TestProber_SmallAndEven(t *testing.T) {
	even := make([]byte, 256*4)
	for i := range even {
		even[i] = byte(i)
	}
	for _, c := range []struct {
		b    []byte
		want float64
	}{{even, 8}, {[]byte("aaaa"), 0}, {[]byte("aabb"), 1}, {[]byte("abcd"), 2}} {
		if got := bitsPerByte(c.b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%.8q has %v bits a byte, want %v", c.b, got, c.want)
		}
	}
	var p prober
	for i, c := range []struct {
		b     []byte
		worth bool
		vain  int32
	}{
		{noise(1, 100), false, 1}, {text(4000), true, 0}, {noise(2, sampleSize-1), false, 1}, {noise(3, sampleSize), false, 2}, {nil, true, 0},
		{append(noise(4, 200_000), text(10)...), false, 1}, {append(append(noise(5, 100_000), text(probeSize)...), noise(6, 100_000)...), true, 0},
	} {
		if got := p.worthIt(c.b); got != c.worth || p.failed.Load() != c.vain {
			t.Errorf("case %d: worth it %v, %d probes in vain", i, got, p.failed.Load())
		}
	}
}

// The machine's file system: files of this user only, errors with their names,
// and how full it is as the system says it.
func TestDisk_FilesAndUsage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	f, err := Disk{}.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if _, err := (Disk{}).Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	if err := f.Allocate(3 << 20); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Size() != 3<<20 {
		t.Errorf("%d bytes, %v", st.Size(), err)
	}
	if _, err := f.WriteAt([]byte("abc"), 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := (Disk{}).Punch(path, 1<<20, 1<<20); err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		t.Error(err)
	} else if err == nil {
		b := make([]byte, 3)
		if _, err := f.ReadAt(b, 1<<20); err != nil || string(b) != "\x00\x00\x00" {
			t.Errorf("what was given back reads as %q, %v", b, err)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Size() != 3<<20 {
		t.Errorf("after giving a part back: %d bytes, %v", st.Size(), err)
	}
	if err := (Disk{}).Remove(path); err != nil {
		t.Fatal(err)
	}
	_, opened := Disk{}.Open(path)
	_, direct := Disk{}.Direct(path, true)
	_, _, usage := Disk{}.Usage(path)
	for what, err := range map[string]error{"open": opened, "direct": direct, "remove": Disk{}.Remove(path), "punch": Disk{}.Punch(path, 0, 1), "usage": usage} {
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	used, total, err := Disk{}.Usage(dir)
	if err != nil || total != s.Blocks*uint64(s.Bsize) || used > total {
		t.Errorf("%d of %d in use, %v", used, total, err)
	}
	// Others write to the file system meanwhile.
	if free := s.Bavail * uint64(s.Bsize); math.Abs(float64(total-used)-float64(free)) > float64(total)/10 {
		t.Errorf("%d bytes are free, the system says %d", total-used, free)
	}
}

// Errors are told apart: no room, no such transfers, anything else.
func TestErrors_FullAndRefused(t *testing.T) {
	wrap := func(err error) error { return &os.PathError{Op: "write", Path: "p", Err: err} }
	for err, want := range map[error]string{
		unix.ENOSPC: "full", unix.EDQUOT: "full", unix.EFBIG: "full", ErrFull: "full", unix.EINVAL: "refused", unix.EOPNOTSUPP: "refused", unix.ENOSYS: "refused",
		unix.EIO: "", io.EOF: "", os.ErrNotExist: "",
	} {
		if IsFull(wrap(err)) != (want == "full") || refused(wrap(err)) != (want == "refused") {
			t.Errorf("%v: full %v, refused %v", err, IsFull(wrap(err)), refused(wrap(err)))
		}
	}
	if got := joined(nil, io.EOF); got != io.EOF {
		t.Errorf("got %v", got)
	}
	if got := joined(unix.EIO, io.EOF); got != unix.EIO {
		t.Errorf("the first trouble is lost: %v", got)
	}
	if got := joined(unix.EIO, unix.ENOSPC); got != unix.ENOSPC {
		t.Errorf("that a disk is full is lost: %v", got)
	}
	if got := joined(ErrFull, unix.ENOSPC); got != ErrFull {
		t.Errorf("the first full disk is lost: %v", got)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if named("read", f, nil) != nil || !strings.Contains(named("read", f, unix.EIO).Error(), "read "+os.DevNull) {
		t.Error("an error does not name its file")
	}
}
