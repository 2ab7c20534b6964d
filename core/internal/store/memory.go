package store

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CreateMemory makes the node's arena: an anonymous file of the given size in
// bytes, whose pages appear when they are first written. It is sealed against
// resizing, so a mapping of it can never fault for lack of a file behind it.
func CreateMemory(name string, size uint64) (fd int, err error) {
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

// mapFile maps the whole arena, each block of it at a multiple of its size: else it could
// not be mapped as one page.
func mapFile(fd int, size uint64, prot int) ([]byte, error) {
	pages := uintptr(wholePages(size))
	hold, err := unix.MmapPtr(-1, 0, nil, pages+hugePage, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("find room for %d bytes of the arena: %w%s", size, err, limitHint())
	}
	before := -uintptr(hold) & (hugePage - 1)
	at := unsafe.Add(hold, before)
	if _, err = unix.MmapPtr(fd, 0, at, uintptr(size), prot, unix.MAP_SHARED|unix.MAP_NORESERVE|unix.MAP_FIXED); err != nil {
		_ = unix.MunmapPtr(hold, pages+hugePage)
		return nil, fmt.Errorf("map %d bytes of the arena: %w", size, err)
	}
	if before > 0 {
		_ = unix.MunmapPtr(hold, before)
	}
	_ = unix.MunmapPtr(unsafe.Add(at, pages), hugePage-before)
	return unsafe.Slice((*byte)(at), size), nil
}

// unmapFile takes back what mapFile has mapped.
func unmapFile(b []byte) error { return unix.MunmapPtr(unsafe.Pointer(&b[0]), uintptr(len(b))) }

// limitHint says that the process's address space is limited, when it is: the arena's size is what the user can change.
func limitHint() string {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil || limit.Cur >= 1<<62 {
		return ""
	}
	return fmt.Sprintf(" (ulimit -v limits this process to %d bytes of addresses: raise it, or ask for a smaller store with "+
		"init(object_store_memory=...) or eagleray start --object-store-memory)", limit.Cur)
}
