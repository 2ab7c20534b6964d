package raftlog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// images returns the snapshots that the directory has, newest first, as "index:image".
func images(t *testing.T, s raft.SnapshotStore) (list []string) {
	t.Helper()
	metas, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range metas {
		opened, r, err := s.Open(m.ID)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if opened.Index != m.Index || opened.Term != 2 || opened.Size != int64(len(b)) || len(opened.Configuration.Servers) != 1 || opened.Configuration.Servers[0].ID != "a" || opened.ConfigurationIndex != 1 {
			t.Errorf("snapshot %s says %+v", m.ID, opened)
		}
		list = append(list, string(b))
	}
	return list
}

func filesIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestSnapshots_Written_TwoAreKept(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small)
	store(t, d.log, entries(1, 60, 0))
	if d.snapshots.oldest() != 0 {
		t.Error("there is an oldest snapshot before there is one")
	}
	for i := uint64(10); i <= 50; i += 10 {
		snap(t, d.snapshots, i, strings.Repeat("x", int(i)))
		if err := d.log.DeleteRange(1, i); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.snapshots.oldest(); got != 40 {
		t.Errorf("the oldest snapshot is that of entry %d", got)
	}
	k, err := d.snapshots.Create(1, 70, 2, raft.Configuration{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Cancel(); err != nil {
		t.Error(err)
	}
	if err := k.Close(); err == nil {
		t.Error("a snapshot that was given up is there")
	}
	if err := holds(d.log, entries(41, 60, 0)); err != nil { // the log goes on from the older one
		t.Error(err)
	}
	for range 2 {
		if got := images(t, d.snapshots); len(got) != 2 || len(got[0]) != 50 || len(got[1]) != 40 {
			t.Errorf("snapshots %q", got)
		}
		if got := filesIn(t, d.snapshots.dir); len(got) != 2 {
			t.Errorf("files %q", got)
		}
		closed(t, d)
		d = open(t, dir, small)
	}
}

// A write of the newest snapshot that was cut off leaves the others as they were.
func TestSnapshots_HalfWritten_IsSweptAway(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small)
	snap(t, d.snapshots, 10, "ten")
	k, err := d.snapshots.Create(1, 20, 2, raft.Configuration{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	closed(t, d)
	d = open(t, dir, small)
	if got := images(t, d.snapshots); len(got) != 1 || got[0] != "ten" {
		t.Errorf("snapshots %q", got)
	}
	if got := filesIn(t, d.snapshots.dir); len(got) != 1 {
		t.Errorf("files %q", got)
	}
	_ = k.Cancel() // its file is gone
}

// Whatever byte of the newest snapshot is wrong: the older one and the log give the same state.
func TestOpen_NewestSnapshotDamaged_TheOlderOneServes(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small)
	store(t, d.log, entries(1, 60, 0))
	snap(t, d.snapshots, 20, "older")
	snap(t, d.snapshots, 40, "newest")
	path := d.snapshots.path(idOf(2, 40))
	closed(t, d)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(i int, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		o := small
		o.Log = textLog(&log)
		d := open(t, dir, o)
		if got := images(t, d.snapshots); len(got) != 1 || got[0] != "older" {
			t.Fatalf("byte %d: snapshots %q", i, got)
		}
		if !strings.Contains(log.String(), path) || !strings.Contains(log.String(), "at byte") {
			t.Fatalf("byte %d: the log says %s", i, &log)
		}
		if first, _ := d.log.FirstIndex(); first > 21 {
			t.Fatalf("the log begins with entry %d", first)
		}
		if got := filesIn(t, d.snapshots.dir); len(got) != 2 {
			t.Fatalf("files %q", got)
		}
		closed(t, d)
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x20
		damage(i, b)
		damage(i, whole[:i])
	}
}

func TestOpen_SnapshotThatIsNeededDamaged_IsRefused(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small)
	for i := uint64(1); i <= 300; i += 3 { // in many segments
		store(t, d.log, entries(i, i+2, 0))
	}
	for i := uint64(100); i <= 200; i += 50 {
		snap(t, d.snapshots, i, "image")
		if err := d.log.DeleteRange(1, i); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, d)
	older, newest := d.snapshots.path(idOf(2, 150)), d.snapshots.path(idOf(2, 200))
	b, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	refused := func(want string) {
		t.Helper()
		if _, err := Open(dir, small); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("opened: %v, want the name %s", err, want)
		}
	}
	if err := errors.Join(os.Rename(older, older+".away"), os.WriteFile(newest, b, 0o600)); err != nil {
		t.Fatal(err)
	}
	refused(newest)
	if err := os.Remove(newest); err != nil { // without a trace: the log does not begin at the beginning
		t.Fatal(err)
	}
	refused(filepath.Join(dir, logName))
	if err := os.Rename(older+".away", older); err != nil {
		t.Fatal(err)
	}
	d = open(t, dir, small)
	if err := holds(d.log, entries(d.log.first, 300, 0)); err != nil || d.log.first > 151 {
		t.Errorf("the log begins with entry %d: %v", d.log.first, err)
	}
}

// The process of a follower ended when it had the snapshot of another head, and not yet dropped its own entries.
func TestOpen_SnapshotAheadOfTheLog_EmptiesTheLog(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small)
	store(t, d.log, entries(1, 30, 0))
	snap(t, d.snapshots, 20, "own")
	snap(t, d.snapshots, 100, "other")
	closed(t, d)
	d = open(t, dir, small)
	if got := images(t, d.snapshots); len(got) != 1 || got[0] != "other" {
		t.Errorf("snapshots %q", got)
	}
	store(t, d.log, entries(101, 103, 0))
	closed(t, d)
	d = open(t, dir, small)
	if err := holds(d.log, entries(101, 103, 0)); err != nil {
		t.Error(err)
	}
}
