package store

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the system tells about pages, and does with them on request.

// populate maps all pages of b at once. A kernel before 5.14 cannot do that; there the copy
// that follows maps them one by one, with a fault each.
func populate(b []byte) error {
	for {
		switch err := unix.Madvise(b, unix.MADV_POPULATE_WRITE); err {
		case unix.EINTR, unix.EAGAIN:
			continue
		case unix.EINVAL:
			return nil
		default:
			return err
		}
	}
}

// collapse makes huge pages of whole blocks, each of which has at least one page.
func collapse(b []byte) error { return unix.Madvise(b, unix.MADV_COLLAPSE) }

// collapses reports whether the system can make huge pages on request.
func collapses(b []byte) bool {
	_, _, e := unix.RawSyscall(unix.SYS_MADVISE, uintptr(unsafe.Pointer(&b[0])), 0, unix.MADV_COLLAPSE)
	return e == 0
}

// pageThere reports whether the page at the start of b exists, mapped or not.
func pageThere(b []byte) bool {
	var found [1]byte
	_, _, e := unix.RawSyscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), 1, uintptr(unsafe.Pointer(&found[0])))
	return e == 0 && found[0]&1 != 0
}

// openPagemap opens the file that tells which pages this process has mapped; -1: it cannot.
func openPagemap() int {
	fd, err := unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// pageMapped reports whether the page at the start of b is mapped.
func pageMapped(pagemap int, b []byte) bool {
	var entry [8]byte
	page := int64(uintptr(unsafe.Pointer(&b[0])) / pageSize)
	n, err := unix.Pread(pagemap, entry[:], page*int64(len(entry)))
	return err == nil && n == len(entry) && entry[7]&0x80 != 0
}

// threadTime returns the processor time that the calling thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}
