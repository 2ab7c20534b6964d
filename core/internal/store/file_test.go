package store

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// A part of a file is mapped wherever it begins; what lies outside of the file
// is an error, since reading it would end the process.
func TestMapFile_PartsOfAFile(t *testing.T) {
	page := os.Getpagesize()
	whole := pattern(3*page+100, 4)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	n := uint64(len(whole))
	for _, c := range []struct{ off, size uint64 }{{0, n}, {0, 1}, {1, 1}, {uint64(page), uint64(page)}, {uint64(page) - 1, 2}, {uint64(page) + 64, n - uint64(page) - 64}, {n - 1, 1}} {
		v, err := MapFile(path, c.off, c.size)
		if err != nil {
			t.Fatalf("%d+%d: %v", c.off, c.size, err)
		}
		if !bytes.Equal(v.Bytes(), whole[c.off:c.off+c.size]) {
			t.Errorf("%d+%d: other bytes", c.off, c.size)
		}
		v.Close()
	}
	for _, c := range []struct{ off, size uint64 }{
		{0, 0}, {5, 0}, {0, n + 1}, {1, n}, {n, 1}, {n + 1, 1}, {0, math.MaxInt64 + 1}, {math.MaxInt64 + 1, 1}, {math.MaxInt64, 1}, {math.MaxInt64 - 1, 1}, {math.MaxUint64, 2},
	} {
		if v, err := MapFile(path, c.off, c.size); !errors.Is(err, ErrOutOfRange) || v != nil {
			t.Errorf("%d+%d: got %v, %v", c.off, c.size, v, err)
		}
	}
	if _, err := MapFile(path+"x", 0, 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	var none *FileView
	none.Close()
}
