package store

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// A file stands for memory where the arena has no room. Its creator writes it
// through a descriptor, so that a disk that has become full is an error and not
// a signal; readers map it.

// MapFile maps size bytes of a file, read-only. Unmap gives the memory back.
func MapFile(path string, size uint64) ([]byte, error) {
	if size == 0 || size > math.MaxInt64 {
		return nil, fmt.Errorf("map %s: %w: %d bytes", path, ErrOutOfRange, size)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if uint64(st.Size()) < size { // reading beyond its end would be a signal
		return nil, fmt.Errorf("map %s: %w: %d bytes of %d", path, ErrOutOfRange, size, st.Size())
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of %s: %w", size, path, err)
	}
	return b, nil
}

// Unmap undoes MapFile.
func Unmap(b []byte) error { return unix.Munmap(b) }
