package store

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Programs often store large arrays that they have allocated and hardly written, so that most
// bytes are zeros and have no memory behind them. In objects of at least sparseFrom bytes, whole
// blocks of zeros therefore become holes of the arena's file, which read as zeros. A hole still
// belongs to the object's range. The system makes a page of it when a reader looks at it.

// sparseFrom is the size from which on zeros are looked for. In smaller objects it is better to
// write to pages that are there, and that are used again later, than to save their memory.
const sparseFrom = 256 << 20

// run returns how many bytes at the start of b are of one kind, and whether that is whole
// blocks of zeros.
func run(off uint64, b []byte) (n uint64, zeros bool) {
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

// allZeros reports whether 2 MiB of the program's memory are all zeros. Pages that were never
// touched are mapped together first, instead of by a fault for each page.
func allZeros(b []byte) bool {
	var none [64]byte
	if !bytes.Equal(b[:64], none[:]) || !bytes.Equal(b[len(b)-64:], none[:]) || !bytes.Equal(b[len(b)/2:][:64], none[:]) {
		return false
	}
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (pageSize - 1)                       // to the next page
	_ = unix.Madvise(b[skip:skip+(len(b)-skip)&^(pageSize-1)], unix.MADV_POPULATE_READ) // on an older system they are mapped one by one
	return bytes.Equal(b[:len(b)-64], b[64:])                                           // the first 64 bytes are zeros, so the next 64 are, and so on
}
