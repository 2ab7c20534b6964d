package raftlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// File is an open file of the log.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error // returns when all that was written is on the disk
}

// Disk opens the files of a log. Tests give the log disks that fail, or that lose what was not synced.
type Disk interface {
	// Create makes a file of zeros that begins with head. The file is there whole, or not at all.
	Create(path string, size int, head []byte) (File, error)
	// Open opens a file for reading and writing. create says whether it is made when there is none.
	Open(path string, create bool) (File, error)
	// Remove removes files in the given order, and returns when that is on the disk.
	Remove(dir string, paths []string) error
}

// ThisMachine is this machine's disk. Tests wrap it.
var ThisMachine Disk = realDisk{}

// realDisk is the disk of this machine.
type realDisk struct{}

// realFile syncs its data, and what is needed to read them.
type realFile struct{ *os.File }

func (f realFile) Sync() error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return pathError("sync", f.Name(), err)
		}
	}
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}

func (d realDisk) Create(path string, size int, head []byte) (File, error) {
	temp := path + tempSuffix
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	// The zeros are written, and not only allocated, so that a commit later changes nothing but data: then its fdatasync
	// need not wait for the file system's journal, and it does not run out of room.
	block := make([]byte, min(size, 1<<20))
	copy(block, head)
	for at := 0; at < size && err == nil; at += len(block) {
		_, err = f.WriteAt(block[:min(len(block), size-at)], int64(at))
		clear(block[:len(head)])
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		_ = os.Remove(temp)
		return nil, err
	}
	return d.Open(path, false) // under its own name, which errors show
}

func (realDisk) Open(path string, create bool) (File, error) {
	flags := os.O_RDWR | unix.O_CLOEXEC
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return realFile{f}, nil
}

func (realDisk) Remove(dir string, paths []string) error {
	for _, p := range paths {
		if err := os.Remove(p); err != nil {
			return err
		}
	}
	return syncDir(dir)
}

// tempSuffix ends the names of files that are being written. What is left of them is removed when the directory is opened.
const tempSuffix = ".tmp"

// replaceFile writes a file that is there whole, or as it was before.
func replaceFile(path string, data []byte) error {
	temp := path + tempSuffix
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir returns when the names in a directory are on the disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}

// readFile reads a file that has at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, damaged(path, limit, "the file has more than %d bytes", limit)
	}
	return b, nil
}

// ErrDamaged: a file of the state directory is not as it was written. The error names the file and the place.
var ErrDamaged = errors.New("the state directory is damaged")

// damaged returns an ErrDamaged.
func damaged(path string, at int64, format string, args ...any) error {
	return fmt.Errorf("%w: %s at byte %d: %s", ErrDamaged, path, at, fmt.Sprintf(format, args...))
}

// joined returns the first error that there is.
func joined(first, second error) error {
	if first != nil {
		return first
	}
	return second
}
