package spill

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Errors of a Store.
var (
	ErrFull  = errors.New("no space left on the disk")
	ErrStuck = errors.New("the disk does not answer")
)

// ErrCorrupt reports bytes on disk that are not those that were written.
var ErrCorrupt = errors.New("the copy on disk is damaged")

// IsFull reports whether an error says that there is no room.
func IsFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) || errors.Is(err, ErrFull)
}

// joined returns the first error, or the second one if only that says that a disk is full.
func joined(first, second error) error {
	if first == nil || IsFull(second) && !IsFull(first) {
		return second
	}
	return first
}

// refused reports whether an error says that the file system does not transfer
// without the page cache, or not so.
func refused(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS)
}
