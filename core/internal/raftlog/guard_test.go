package raftlog

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// failing is a disk whose files fail to be synced or written once bad is set.
type failing struct {
	realDisk
	mu  sync.Mutex
	bad error
}

type failingFile struct {
	File
	d *failing
}

func (d *failing) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bad
}

func (d *failing) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bad = err
}

func (d *failing) Create(path string, size int, head []byte) (File, error) {
	if err := d.err(); err != nil {
		return nil, pathError("write", path, err)
	}
	f, err := d.realDisk.Create(path, size, head)
	return failingFile{f, d}, err
}

func (d *failing) Open(path string, create bool) (File, error) {
	f, err := d.realDisk.Open(path, create)
	return failingFile{f, d}, err
}

func (f failingFile) Sync() error { return joined(f.File.Sync(), f.d.err()) }

// lead opens a member on a directory, and returns when it leads and has read its whole state back.
func lead(t testing.TB, d *Dir) *raftstate.Node {
	t.Helper()
	n, err := raftstate.Open(raftstate.Options{ID: d.ID(), Stores: d.Stores()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for from := n.Now(); ; {
		b, err := n.Watch(ctx, from)
		switch {
		case errors.Is(err, record.ErrCompacted):
			from = n.Now()
		case err != nil:
			t.Fatal(err)
		case b.Leading:
			return n
		default:
			from = b.Next
		}
	}
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited 20 s: %s", what)
	}
}

func TestGuard_FailedSync_StopsTheMember(t *testing.T) {
	dir, disk := t.TempDir(), &failing{}
	d := open(t, dir, Options{Log: quiet, Disk: disk})
	n := lead(t, d)
	ctx := context.Background()
	if _, err := n.PutKV(ctx, "", "kept", []byte("1"), true); err != nil {
		t.Fatal(err)
	}
	disk.fail(unix.EIO)
	_, err := n.PutKV(ctx, "", "unknown", []byte("1"), true)
	if !errors.Is(err, record.ErrMayHaveBeenApplied) || !errors.Is(err, unix.EIO) || !strings.Contains(err.Error(), dir) {
		t.Errorf("the change whose fsync failed: %v", err)
	}
	await(t, n.Failed(), "the member to stop")
	if err := n.Err(); !errors.Is(err, unix.EIO) || !strings.Contains(err.Error(), "the state directory "+dir) {
		t.Errorf("the member stopped with %v", err)
	}
	disk.fail(nil) // nothing is tried again: what the file holds is not known
	_, err = n.PutKV(ctx, "", "later", []byte("1"), true)
	if err == nil || errors.Is(err, record.ErrMayHaveBeenApplied) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a later change: %v", err)
	}
	if _, err := n.Watch(ctx, n.Now()); !errors.Is(err, record.ErrClosed) {
		t.Errorf("a watch after the failure: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	closed(t, d)
	n = lead(t, open(t, dir, Options{Log: quiet}))
	if _, err := n.PutKV(ctx, "", "again", nil, true); err != nil { // the state is as the log says
		t.Fatal(err)
	}
	if _, ok, err := n.GetKV(t.Context(), "", "kept"); !ok || err != nil {
		t.Error("what was acknowledged is lost")
	}
	if _, ok, err := n.GetKV(t.Context(), "", "later"); ok || err != nil {
		t.Error("what was refused is there")
	}
}

// raft panics when a term cannot be saved. The guard stops the member instead.
func TestGuard_FailedTerm_IsNoPanic(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small)
	if err := os.RemoveAll(dir); err != nil { // no file can be made any more
		t.Fatal(err)
	}
	if err := d.stable.SetUint64([]byte(currentTerm), 9); err != nil {
		t.Errorf("the term: %v", err)
	}
	await(t, d.guard.Failed(), "the guard")
	if err := d.stable.SetUint64([]byte("LastVoteTerm"), 9); err == nil {
		t.Error("a vote was saved")
	}
	if err := d.stable.Set([]byte("LastVoteCand"), []byte("a")); err == nil {
		t.Error("a vote was saved")
	}
	if err := d.log.StoreLog(entryOf(1, 0)); err == nil {
		t.Error("an entry was stored")
	}
}

// fullDisk is the variable that tells the test's own program to fill the directory that it names.
const fullDisk = "EAGLERAY_TEST_FULL_DISK"

// A real file system without room: the program runs in a mount namespace of its own with a small tmpfs.
func TestGuard_FullDisk_StopsTheMemberAndLosesNothing(t *testing.T) {
	if dir := os.Getenv(fullDisk); dir != "" {
		fill(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), fullDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("this system has no user namespaces: %v", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	case !strings.Contains(string(out), "--- PASS"):
		t.Fatalf("the program did nothing:\n%s", out)
	}
}

func fill(t *testing.T, dir string) {
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	d := open(t, state, Options{Log: quiet, SegmentSize: 64 << 10})
	n := lead(t, d)
	ctx := context.Background()
	var kept []string
	var err error
	for i := 0; err == nil && i < 10_000; i++ {
		key := "k" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + time.Duration(i).String()
		if _, err = n.PutKV(ctx, "", key, make([]byte, 3000), true); err == nil {
			kept = append(kept, key)
		}
	}
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), state) || !strings.Contains(err.Error(), "Make room") {
		t.Errorf("after %d changes: %v", len(kept), err)
	}
	await(t, n.Failed(), "the member to stop")
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	closed(t, d)
	n = lead(t, open(t, state, Options{Log: quiet}))
	for _, key := range kept {
		if _, ok, err := n.GetKV(t.Context(), "", key); !ok || err != nil {
			t.Errorf("%s is lost", key)
		}
	}
}

// A write of the log, and one of the term, is seen that takes too long.
func TestGuard_WriteTakesLong_IsStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard("dir")
		for _, w := range []*stopwatch{&g.log, &g.term} {
			w.start()
			time.Sleep(StallAfter)
			if g.Stalled() {
				t.Error("a write may take that long")
			}
			time.Sleep(time.Millisecond)
			if !g.Stalled() {
				t.Error("a write that takes longer is not seen")
			}
			w.stop()
			if g.Stalled() {
				t.Error("the write is over")
			}
		}
	})
}
