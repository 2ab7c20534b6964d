package raftlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpen_Twice_IsRefused(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, small)
	_, err := Open(dir, small)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), fmt.Sprintf("process id %d.", os.Getpid())) {
		t.Errorf("opened twice: %v", err)
	}
	closed(t, d)
	open(t, dir, small)
}

func TestOpen_Again_HasTheSameID(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	d := open(t, dir, small)
	id := d.ID()
	if !d.Fresh() || len(id) != 56 {
		t.Errorf("the first time: fresh %v, id %q", d.Fresh(), id)
	}
	closed(t, d)
	d = open(t, dir, small)
	if d.Fresh() || d.ID() != id {
		t.Errorf("again: fresh %v, id %q instead of %q", d.Fresh(), d.ID(), id)
	}
	for _, path := range []string{dir, filepath.Join(dir, stableName)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestOpen_NoDirectory_IsRefusedWithItsName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, small); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("opened a file: %v", err)
	}
}
