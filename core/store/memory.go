package store

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// HugePagesVar is the variable that asks for an arena of huge pages, by "1". Its
// file cannot be sealed, so the processes of the session have to be trusted not to
// shorten it.
const HugePagesVar = "EAGLERAY_HUGE_PAGES"

// CreateMemory makes the node's arena: an anonymous file of the given size in
// bytes, whose pages appear when they are first written. It is sealed against
// resizing, so a mapping of it can never fault for lack of a file behind it. Asked
// for by HugePagesVar, and where they can be had, its pages are of 2 MiB: a first
// write costs a fifth of the time then.
func CreateMemory(name string, size uint64) (fd int, err error) {
	if os.Getenv(HugePagesVar) == "1" && !hugePages() {
		if fd, err := hugeFile(size); err == nil {
			return fd, nil
		}
	}
	return sealedFile(name, size)
}

// sealedFile makes a file that cannot be resized.
func sealedFile(name string, size uint64) (fd int, err error) {
	fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, fmt.Errorf("create the arena: %w", err)
	}
	if err = unix.Ftruncate(fd, int64(size)); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("size the arena to %d bytes: %w", size, err)
	}
	return fd, nil
}

// hugePages reports whether the system backs shared memory with huge pages
// where a mapping asks for it.
func hugePages() bool {
	b, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), "[")
	mode, _, _ := strings.Cut(rest, "]")
	return mode == "advise" || mode == "within_size" || mode == "always" || mode == "force"
}

// mapFile maps the whole arena.
func mapFile(fd int, size uint64, prot int, huge bool) ([]byte, error) {
	b, err := unix.Mmap(fd, 0, int(size), prot, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of the arena: %w", size, err)
	}
	if huge {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // a wish: without it pages are small
	}
	return b, nil
}
