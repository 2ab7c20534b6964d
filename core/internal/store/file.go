package store

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// A file stands for memory where the arena has no room. Its creator writes it
// through a descriptor, so that a disk that has become full is an error and not
// a signal; readers map it. They also map objects that
// were spilled, when the arena has no room to take those back.

// FileView is a part of a file, mapped read-only.
type FileView struct {
	whole []byte // from a page's start on
	bytes []byte
}

// MapFile maps size bytes of a file from an offset on.
func MapFile(path string, off, size uint64) (*FileView, error) {
	if size == 0 || size > math.MaxInt64 || off > math.MaxInt64-size {
		return nil, fmt.Errorf("map %s: %w: %d bytes at %d", path, ErrOutOfRange, size, off)
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
	if uint64(st.Size()) < off+size { // reading beyond its end would be a signal
		return nil, fmt.Errorf("map %s: %w: %d bytes at %d of %d", path, ErrOutOfRange, size, off, st.Size())
	}
	skip := off % uint64(os.Getpagesize())
	b, err := unix.Mmap(int(f.Fd()), int64(off-skip), int(size+skip), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of %s: %w", size, path, err)
	}
	return &FileView{whole: b, bytes: b[skip:]}, nil
}

// Bytes returns the memory: writing to it faults. It is valid until Close.
func (v *FileView) Bytes() []byte { return v.bytes }

// Close unmaps; it may be called on nil.
func (v *FileView) Close() {
	if v != nil {
		_ = unix.Munmap(v.whole)
	}
}
