package spill

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// FS is the file system as a Store uses it. Tests have one that fails or hangs.
type FS interface {
	Create(path string) (File, error) // must not exist yet
	Open(path string) (File, error)   // to read
	Direct(path string, write bool) (DirectFile, error)
	Remove(path string) error
	Punch(path string, off, size int64) error // gives a part of a file back
	Usage(dir string) (used, total uint64, err error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Allocate makes the file size bytes long, with room for them on the disk.
	Allocate(size int64) error
}

// DirectFile is a file that was opened a second time, to move whole pages between
// its disk and memory without the page cache. Memory, places in the file and sizes
// are multiples of pageSize. A file system that cannot do it says so at the opening
// or at a transfer: see refused.
type DirectFile interface {
	Readv(to [][]byte, at int64) (int, error) // 0: the end of the file
	Writev(from [][]byte, at int64) (int, error)
	io.Closer
}

// Disk is the machine's file system.
type Disk struct{}

type diskFile struct{ *os.File }

// Create makes a file that only this user can read.
func (Disk) Create(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// Open opens a file for reading.
func (Disk) Open(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// Direct opens a file that exists for transfers without the page cache.
func (Disk) Direct(path string, write bool) (DirectFile, error) {
	mode := os.O_RDONLY
	if write {
		mode = os.O_WRONLY
	}
	f, err := os.OpenFile(path, mode|unix.O_DIRECT, 0)
	if err != nil {
		return nil, err
	}
	return directFile{f}, nil
}

type directFile struct{ *os.File }

func (f directFile) Readv(to [][]byte, at int64) (int, error) {
	for {
		n, err := unix.Preadv(int(f.Fd()), to, at)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), named("read", f.File, err)
		}
	}
}

func (f directFile) Writev(from [][]byte, at int64) (int, error) {
	for {
		n, err := unix.Pwritev(int(f.Fd()), from, at)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), named("write", f.File, err)
		}
	}
}

func named(op string, f *os.File, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: f.Name(), Err: err}
}

// Remove deletes a file.
func (Disk) Remove(path string) error { return os.Remove(path) }

// Punch makes a hole in a file.
func (Disk) Punch(path string, off, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, size)
}

// Usage says how much of a directory's file system is in use. What only root
// may use counts as used.
func (Disk) Usage(dir string) (used, total uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	size := uint64(s.Bsize)
	total = s.Blocks * size
	return total - min(s.Bavail*size, total), total, nil
}

// Allocate implements File. A file system that cannot reserve room gets a
// sparse file: then writing it can fail. What there is no room for is not
// tried: ext4 takes all blocks that are left before it finds that they are too
// few, and meanwhile nobody else can write.
func (f diskFile) Allocate(size int64) error {
	if !f.hasRoom(size) {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: unix.ENOSPC}
	}
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return f.Truncate(size)
		}
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
}

// hasRoom reports whether the file system has the blocks that the file lacks
// for so many bytes. Where that cannot be known the allocation finds out.
func (f diskFile) hasRoom(size int64) bool {
	var s unix.Statfs_t
	var have unix.Stat_t
	if size < 0 || unix.Fstatfs(int(f.Fd()), &s) != nil || unix.Fstat(int(f.Fd()), &have) != nil {
		return true
	}
	return s.Blocks == 0 || uint64(size) <= s.Bavail*uint64(s.Bsize)+512*uint64(have.Blocks)
}
