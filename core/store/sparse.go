package store

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Zeros. Programs that want much memory often give it as it came, all zeros and not even
// there: for what is zero in objects of gigabytes the file gets holes, which read as zeros.
// They are part of the object's range all the same; a reader's page is made when it looks.

// sparseFrom is the size from which zeros are looked for. For less, pages that are
// there and are used again are worth more than memory.
const sparseFrom = 256 << 20

// stretch returns how many bytes at the start of b are alike: whole blocks of zeros, or not.
func stretch(off uint64, b []byte) (n uint64, zeros bool) {
	for n < uint64(len(b)) {
		piece := b[n:min(n+toBlock(off+n), uint64(len(b)))]
		all := len(piece) == hugePage && allZeros(piece)
		if n > 0 && all != zeros {
			break
		}
		n, zeros = n+uint64(len(piece)), all
	}
	return n, zeros
}

// allZeros reports whether a huge page's worth of the program's memory is all zeros. What
// was never touched is mapped in one go first, not by a fault for each page.
func allZeros(b []byte) bool {
	var none [64]byte
	if !bytes.Equal(b[:64], none[:]) || !bytes.Equal(b[len(b)-64:], none[:]) || !bytes.Equal(b[len(b)/2:][:64], none[:]) {
		return false
	}
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (pageSize - 1)                       // to a page of the program's
	_ = unix.Madvise(b[skip:skip+(len(b)-skip)&^(pageSize-1)], unix.MADV_POPULATE_READ) // where that is not known they come one by one
	return bytes.Equal(b[:len(b)-64], b[64:])                                           // the first 64 are zeros: so are the next, and so on
}
