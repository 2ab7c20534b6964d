package store

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Writes to pages that may not be there yet. Such a write takes long because the system makes
// and clears the pages, not because of the copy. So several cores share the work, and each of
// them copies to the pages that it has just made.

// partSize is how much a thread takes at a time: so little that its new pages are still in
// the processor's cache when they are written. (It is not less, because each request for huge
// pages waits for all cores for a moment, for however many pages.)
const partSize = 4 << 20

// writeParts writes b to the arena from off on. With sparse, whole blocks of zeros become
// holes. The caller holds use, and nobody else writes the range.
func (m *Mapping) writeParts(off uint64, b []byte, sparse bool) error {
	rw := m.writableAll()
	if rw == nil {
		return m.pwrite(off, b)
	}
	first := off / partSize
	end := off + uint64(len(b))
	var next atomic.Uint64
	var failed atomic.Pointer[error]
	work := func() {
		for failed.Load() == nil {
			from := (first + next.Add(1) - 1) * partSize
			if from >= end {
				return
			}
			from, to := max(from, off), min(from+partSize, end)
			if err := m.writePart(rw, from, b[from-off:to-off], sparse); err != nil {
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

// writePart writes one thread's part. With sparse, whole blocks of zeros become holes.
func (m *Mapping) writePart(rw []byte, off uint64, b []byte, sparse bool) error {
	for len(b) > 0 {
		n, zeros := uint64(len(b)), false
		if sparse {
			n, zeros = run(off, b)
		}
		if zeros {
			m.remember(off, n, pagesUnknown)
			if err := m.punch(off, n); err != nil {
				return err
			}
		} else {
			m.useHugePages(off, n)
			if err := m.writeRuns(rw, off, b[:n], sparse); err != nil {
				return err
			}
		}
		off, b = off+n, b[n:]
	}
	return nil
}

// toBlock returns how many bytes it is from off to the next block.
func toBlock(off uint64) uint64 { return hugePage - off%hugePage }

// writeRuns copies b to pages that are known to be mapped. Other pages are mapped first when
// the range is large; else they are written through the descriptor, and mapped at the next write.
func (m *Mapping) writeRuns(rw []byte, off uint64, b []byte, large bool) error {
	for len(b) > 0 {
		n := min(toBlock(off), uint64(len(b)))
		known := m.known(off, n)
		for n < uint64(len(b)) && (known || !large) {
			more := min(toBlock(off+n), uint64(len(b))-n)
			if m.known(off+n, more) != known {
				break
			}
			n += more
		}
		if known || m.mapped(off, n, large) != nil {
			copyParallel(rw[off:], b[:n], 1)
		} else if err := m.writeSmall(off, b[:n]); err != nil {
			return err
		}
		off, b = off+n, b[n:]
	}
	return nil
}

// writeSmall is pwrite for one of several threads.
func (m *Mapping) writeSmall(off uint64, b []byte) error {
	m.small.Lock()
	defer m.small.Unlock()
	return m.pwrite(off, b)
}

// remember stores what was done with the granules that lie in the range as a whole.
func (m *Mapping) remember(off, size uint64, s pageState) {
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
