// Package fdlimit is for work that needs something of which the system may have
// no more for a moment: file descriptors mostly, or memory. Such a shortage is no
// fault of the work. It passes, so the work waits and tries again.
package fdlimit

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// pause lies between two tries.
const pause = 25 * time.Millisecond

// Shortage reports whether the error says that the system has no more of something
// now and may have it again later.
func Shortage(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EAGAIN)
}

// Free reports why the process cannot open n more descriptors now; nil when it can.
func Free(n int) error {
	fds := make([]int, 0, n)
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for range n {
		fd, err := unix.Dup(0)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
	}
	return nil
}

// Retry calls f until it succeeds, or fails for another reason than a shortage. It
// ends with the error of a shortage when the limit is over or wanted says that
// nobody waits for the result any more.
func Retry(limit time.Duration, wanted func() bool, f func() error) error {
	for end := time.Now().Add(limit); ; time.Sleep(pause) {
		err := f()
		if err == nil || !Shortage(err) || time.Now().After(end) || !wanted() {
			return err
		}
	}
}
