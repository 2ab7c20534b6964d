package store

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Detach replaces mapped memory with a copy at the same address, so that b does not show any
// more what others write to the file behind it. Readers notice nothing. Whole pages are copied;
// the owner of the mapping unmaps them as before.
func Detach(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	page := uintptr(os.Getpagesize())
	first := uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (page - 1)
	from := unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), -int(first))
	size := (first + uintptr(len(b)) + page - 1) &^ (page - 1)
	fresh, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("copy %d bytes of mapped memory: %w", size, err)
	}
	copy(unsafe.Slice((*byte)(fresh), size), unsafe.Slice((*byte)(from), size)) // whole pages, because others may read the rest of them
	if err := unix.Mprotect(unsafe.Slice((*byte)(fresh), size), unix.PROT_READ); err != nil {
		_ = unix.MunmapPtr(fresh, size)
		return fmt.Errorf("protect a copy of mapped memory: %w", err)
	}
	if _, err := unix.MremapPtr(fresh, size, from, size, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED); err != nil {
		_ = unix.MunmapPtr(fresh, size)
		return fmt.Errorf("put a copy in the place of mapped memory: %w", err)
	}
	return nil
}
