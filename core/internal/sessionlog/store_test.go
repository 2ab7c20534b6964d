package sessionlog

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, snapshots, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if snapshots == nil {
		t.Fatal("no snapshots")
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func entry(index uint64) *raft.Log {
	l := &raft.Log{Index: index, Term: index / 2, Type: raft.LogType(index % 4), Data: bytes.Repeat([]byte{byte(index)}, int(index)*100)}
	if index%2 == 1 {
		l.Extensions, l.AppendedAt = []byte("more"), time.Unix(5, int64(index))
	}
	return l
}

func same(a, b *raft.Log) bool {
	return a.Index == b.Index && a.Term == b.Term && a.Type == b.Type && bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Extensions, b.Extensions) && a.AppendedAt.Equal(b.AppendedAt)
}

func ends(t *testing.T, s *Store) (first, last uint64) {
	t.Helper()
	first, err1 := s.FirstIndex()
	last, err2 := s.LastIndex()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return first, last
}

func TestStore_OpenedAgain_HasWhatWasWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir)
	if first, last := ends(t, s); first != 0 || last != 0 {
		t.Errorf("an empty log has entries %d to %d", first, last)
	}
	if _, err := s.Get([]byte("no")); err == nil || err.Error() != "not found" {
		t.Errorf("a value that is not there: %v", err)
	}
	if err := errors.Join(s.StoreLog(entry(1)), s.StoreLogs([]*raft.Log{entry(2), entry(3), entry(4), entry(5)}), s.Set([]byte("v"), []byte("x")), s.SetUint64([]byte("n"), 7)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.DeleteRange(1, 2), s.DeleteRange(5, 9), s.DeleteRange(7, 8)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if first, last := ends(t, s); first != 3 || last != 4 {
		t.Errorf("the log has entries %d to %d, want 3 to 4", first, last)
	}
	for _, i := range []uint64{3, 4} {
		var got raft.Log
		if err := s.GetLog(i, &got); err != nil || !same(&got, entry(i)) {
			t.Errorf("entry %d: %v, %v", i, got, err)
		}
	}
	if err := s.GetLog(2, &raft.Log{}); err != raft.ErrLogNotFound {
		t.Errorf("an entry that was removed: %v", err)
	}
	v, err1 := s.Get([]byte("v"))
	n, err2 := s.GetUint64([]byte("n"))
	if string(v) != "x" || n != 7 || err1 != nil || err2 != nil {
		t.Errorf("values %q, %d, %v, %v", v, n, err1, err2)
	}
	if _, err := s.GetUint64([]byte("v")); !errors.Is(err, ErrDamaged) {
		t.Errorf("a number of one byte: %v", err)
	}
}

func TestStore_DamagedEntry_IsAnErrorThatNamesIt(t *testing.T) {
	s := open(t, t.TempDir())
	good := encode(entry(3))
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if err := decode(bad, 3, &raft.Log{}); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d was changed: %v", i, err)
		}
	}
	for n := range len(good) {
		if err := decode(good[:n], 3, &raft.Log{}); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes are left: %v", n, err)
		}
	}
	err := s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(logTable).Put(key(4), good) })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.GetLog(4, &raft.Log{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), s.path+": read entry 4") {
		t.Errorf("entry 3 at the place of entry 4: %v", err)
	}
}

func TestOpen_FolderInUseOrNone_SaysSo(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if _, _, err := Open(dir); err == nil || !strings.Contains(err.Error(), s.path+": another process has it open") {
		t.Errorf("opened twice: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file in place of the folder: %v", err)
	}
}

// A process that is killed while it writes leaves a log that opens, with everything that was stored.
func TestStore_ProcessIsKilled_WhatWasStoredIsThere(t *testing.T) {
	if dir := os.Getenv("SESSIONLOG_WRITE_TO"); dir != "" {
		s, _, err := Open(dir)
		for i := uint64(1); err == nil; i++ {
			if err = s.StoreLog(entry(1 + i%50)); err == nil {
				err = s.StoreLog(&raft.Log{Index: 100 + i, Data: make([]byte, 200)})
			}
			if err == nil {
				_, err = os.Stdout.Write([]byte{'.'})
			}
		}
		t.Fatal(err)
	}
	for range 5 {
		dir := t.TempDir()
		cmd := exec.Command("/proc/self/exe", "-test.run=TestStore_ProcessIsKilled")
		cmd.Env = append(os.Environ(), "SESSIONLOG_WRITE_TO="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		stored := uint64(0)
		for b := make([]byte, 1); stored < 300; stored++ {
			if _, err := out.Read(b); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Process.Signal(unix.SIGKILL)
		_ = cmd.Wait()
		s := open(t, dir)
		if _, last := ends(t, s); last < 100+stored {
			t.Errorf("the last entry is %d, and %d was stored", last, 100+stored)
		}
		for i := uint64(101); i <= 100+stored; i++ {
			if err := s.GetLog(i, &raft.Log{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
