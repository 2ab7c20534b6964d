package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// sessions makes folders of sessions that ended one hour after the other, number 0 first, with a log of so many bytes.
func sessions(t *testing.T, bytes ...int) (base string) {
	t.Helper()
	base = filepath.Join(t.TempDir(), fmt.Sprintf("eagleray-%d", os.Getuid()))
	for i, n := range bytes {
		dir := filepath.Join(base, fmt.Sprintf("s-%d", i))
		if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, size := range map[string]int{"logs/worker.out": n, endedName: 0} {
			if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		at := time.Unix(int64(1e9+3600*i), 0)
		if err := os.Chtimes(filepath.Join(dir, endedName), at, at); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

func left(t *testing.T, base string) (names string) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(base, "s-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		names += filepath.Base(d)[2:]
	}
	return names
}

func TestPrune_NumberAndSize_LatestStay(t *testing.T) {
	for _, c := range []struct {
		bytes []int
		keep  int
		most  int64
		left  string
	}{
		{[]int{1, 1, 1, 1}, 3, 100, "123"},
		{[]int{40, 40, 40, 40}, 10, 100, "23"},
		{[]int{1, 1, 500}, 10, 100, "2"},
		{[]int{1, 1, 1}, 0, 100, ""},
	} {
		base := sessions(t, c.bytes...)
		if _, _, err := prune(base, c.keep, c.most); err != nil {
			t.Fatal(err)
		}
		if got := left(t, base); got != c.left {
			t.Errorf("%v with at most %d and %d bytes: %q is left, want %q", c.bytes, c.keep, c.most, got, c.left)
		}
	}
}

func TestClean_EndedSessions_AreRemovedAndOthersAreNot(t *testing.T) {
	base := sessions(t, 1, 1, 1)
	if err := os.Remove(filepath.Join(base, "s-1", endedName)); err != nil { // it lives
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, endedName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(base, "s-3")); err != nil {
		t.Fatal(err)
	}
	if err := runClean([]string{"--temp-dir", filepath.Dir(base)}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := left(t, base); got != "13" {
		t.Errorf("%q is left, want the one that lives and what is no folder", got)
	}
}
