package store

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Objects of gigabytes. What takes time is not the copy: it is to have that much memory
// made and cleared, so that goes to all cores, each of which copies to what it has just
// made. And programs that want much memory often give it as it came, all zeros and not
// even there: for what is zero the file gets holes, which read as zeros. They are part of
// the object's range all the same; a reader's page is made when it looks.

const (
	// sparseFrom is the size from which zeros are looked for. For less, pages that are
	// there and are used again are worth more than memory.
	sparseFrom = 256 << 20
	// sparseStep is what a thread takes at a time.
	sparseStep = 16 << 20
)

// writeSparse writes b from off on; the range is the caller's. The caller holds use.
func (m *Mapping) writeSparse(off uint64, b []byte) error {
	rw := m.writableAll()
	if rw == nil {
		return m.pwrite(off, b)
	}
	first := off / sparseStep
	end := off + uint64(len(b))
	var next atomic.Uint64
	var failed atomic.Pointer[error]
	work := func() {
		for failed.Load() == nil {
			from := (first + next.Add(1) - 1) * sparseStep
			if from >= end {
				return
			}
			from, to := max(from, off), min(from+sparseStep, end)
			if err := m.writePart(rw, from, b[from-off:to-off]); err != nil {
				failed.Store(&err)
			}
		}
	}
	var wg sync.WaitGroup
	for range min(maxCopiers, runtime.GOMAXPROCS(0)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// writePart writes one thread's part: holes for whole huge pages of zeros, the rest as it is.
func (m *Mapping) writePart(rw []byte, off uint64, b []byte) error {
	hole := uint64(0) // bytes of zeros before off
	punch := func() error {
		if hole == 0 {
			return nil
		}
		at := off - hole
		size := hole
		hole = 0
		m.note(at, size, pagesUnknown)
		return m.fallocateHeld("punch out", unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, size)
	}
	for len(b) > 0 {
		n := min(hugePage-off%hugePage, uint64(len(b)))
		piece := b[:n]
		if n == hugePage && allZeros(piece) {
			hole += n
		} else {
			if err := punch(); err != nil {
				return err
			}
			if populate(rw[off&^(pageSize-1):off+n]) != nil {
				if err := m.pwrite(off, piece); err != nil {
					return err
				}
			} else {
				move(rw[off:off+n], piece)
				m.note(off, n, pagesMapped)
			}
		}
		off, b = off+n, b[n:]
	}
	return punch()
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

// note remembers what was done with the granules that lie in a range as a whole.
func (m *Mapping) note(off, size uint64, s pageState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := (off + granule - 1) / granule; i < (off+size)/granule; i++ {
		m.state[i] = s
	}
}

// writableAll returns the writable mapping, nil when there can be none.
func (m *Mapping) writableAll() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prepare()
	return m.rw
}
