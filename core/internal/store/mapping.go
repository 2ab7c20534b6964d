package store

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Errors of a Mapping.
var (
	ErrOutOfRange    = errors.New("range outside of the arena")
	ErrMappingClosed = errors.New("the arena's mapping is closed")
)

const (
	// granule is the unit in which a Mapping remembers what it has written.
	granule = 64 << 10
	// mapAfter is the size of a write from which on mapping its pages is worth the page faults.
	mapAfter = 256 << 10
	// maxPwrite is the most that one call writes, because other processes' writes wait meanwhile.
	maxPwrite = 1 << 20
)

// Mapping is one process's access to the arena: a read-only mapping for values,
// and a writable one for WriteAt and Pages.
//
// A page costs a fault when a process first touches it through a mapping; a
// write through the descriptor does not. A range of small pages that this process
// writes once is therefore written by pwrite; the second time they are mapped in one
// go, and from then on it is copied to, three times as fast. Huge pages, see huge.go,
// are mapped at once.
type Mapping struct {
	fd   int
	size uint64

	collapse    func([]byte) error // makes huge pages; in tests it may fail
	slowFrom    time.Duration      // the processor time of a huge page that counts as slow
	pausedUntil atomic.Int64       // no huge pages are made until then, as clock counts
	hugeAtOnce  atomic.Int64       // how many huge pages are made at once; 0: one

	use sync.RWMutex // held for writing by Close
	ro  []byte       // nil once closed

	openMap sync.Once
	pagemap int        // the file that tells which pages this process has mapped; -1: not open
	small   sync.Mutex // held by the one thread that writes small pages; more threads would wait in the kernel

	mu    sync.Mutex
	rw    []byte
	state []pageState // by granule; made with rw's first candidate
}

// pageState is what this process did with a granule.
type pageState uint8

const (
	pagesUnknown pageState = iota
	pagesWritten           // once, by pwrite
	pagesMapped            // its pages are in rw
)

// Map maps the arena. It keeps a descriptor of its own.
func Map(fd int, size uint64) (*Mapping, error) {
	if size == 0 || size > math.MaxInt64-granule {
		return nil, fmt.Errorf("map the arena: %w: %d bytes", ErrOutOfRange, size)
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("map the arena: duplicate descriptor %d: %w", fd, err)
	}
	ro, err := mapFile(own, size, unix.PROT_READ)
	if err != nil {
		unix.Close(own)
		return nil, err
	}
	return &Mapping{fd: own, size: size, ro: ro, pagemap: -1, collapse: collapse, slowFrom: slowHugePage}, nil
}

// Fd returns the mapping's own descriptor.
func (m *Mapping) Fd() int { return m.fd }

// Size returns the arena's size in bytes.
func (m *Mapping) Size() uint64 { return m.size }

// Slice returns read-only memory: writing to it faults. It is valid until Close.
func (m *Mapping) Slice(off, size uint64) ([]byte, error) {
	if err := m.check(off, size); err != nil {
		return nil, err
	}
	m.use.RLock()
	defer m.use.RUnlock()
	if m.ro == nil {
		return nil, ErrMappingClosed
	}
	return m.ro[off : off+size : off+size], nil
}

// Pages returns writable memory for a range that nobody else writes meanwhile, rounded up to
// whole pages, which exist then. The memory is valid until Close. The daemon lets disks write
// to it.
func (m *Mapping) Pages(off, size uint64) ([]byte, error) {
	if err := m.check(off, size); err != nil {
		return nil, err
	}
	end := min((off+size+pageSize-1)&^(pageSize-1), m.size)
	m.use.RLock()
	defer m.use.RUnlock()
	if m.ro == nil {
		return nil, ErrMappingClosed
	}
	m.useHugePages(off, end-off)
	rw := m.mapped(off, end-off, true)
	if rw == nil {
		return nil, fmt.Errorf("map %d bytes at %d of the arena: %w", size, off, unix.ENOMEM)
	}
	return rw[off:end:end], nil
}

// Close unmaps; no slice may be used after it. A second Close does nothing.
func (m *Mapping) Close() error {
	m.use.Lock()
	defer m.use.Unlock()
	if m.ro == nil {
		return nil
	}
	err := errors.Join(unmapFile(m.ro), unix.Close(m.fd))
	if m.rw != nil {
		err = errors.Join(err, unmapFile(m.rw))
	}
	if m.pagemap >= 0 {
		err = errors.Join(err, unix.Close(m.pagemap))
	}
	m.ro, m.rw, m.state = nil, nil, nil
	return err
}

// WriteAt writes the slices of src one after another, from off on. Nobody else may write the
// range meanwhile.
func (m *Mapping) WriteAt(off uint64, src ...[]byte) error {
	total := uint64(0)
	for _, b := range src {
		total += uint64(len(b))
	}
	if err := m.check(off, total); err != nil {
		return err
	}
	m.use.RLock()
	defer m.use.RUnlock()
	if m.ro == nil {
		return ErrMappingClosed
	}
	for _, b := range src {
		if err := m.write(off, b); err != nil {
			return err
		}
		off += uint64(len(b))
	}
	return nil
}

// write is WriteAt for one slice. The caller holds use.
func (m *Mapping) write(off uint64, b []byte) error {
	if len(b) >= sparseFrom || len(b) >= hugePage && !m.intact(off, uint64(len(b))) {
		return m.writeParts(off, b, len(b) >= sparseFrom)
	}
	if rw := m.writable(off, uint64(len(b))); rw != nil {
		copyParallel(rw[off:], b, copiers(len(b)))
		return nil
	}
	return m.pwrite(off, b)
}

func (m *Mapping) pwrite(off uint64, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(m.fd, b[:min(len(b), maxPwrite)], int64(off))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("write %d bytes at %d of the arena: %w", len(b), off, err)
		}
		b, off = b[n:], off+uint64(n)
	}
	return nil
}

// writable returns the writable mapping when the range's pages are in it. The
// caller holds use.
func (m *Mapping) writable(off, size uint64) []byte {
	if size < mapAfter {
		return nil
	}
	return m.mapped(off, size, false)
}

// mapped is writable for a range of any size. With atOnce it maps the range also at its first
// write.
func (m *Mapping) mapped(off, size uint64, atOnce bool) []byte {
	first, last := off/granule, (off+size+granule-1)/granule
	rw, least := m.noteWrite(first, last, atOnce)
	if least == pagesMapped || rw == nil {
		return rw
	}
	if err := populate(rw[first*granule : min(last*granule, m.size)]); err != nil {
		return nil
	}
	m.noteMapped(first, last)
	return rw
}

// noteWrite notes that the granules from first to last are written. It returns the writable
// mapping, nil if they are written the first time and atOnce is not set, and what was known of
// the granule of which least was known.
func (m *Mapping) noteWrite(first, last uint64, atOnce bool) (rw []byte, least pageState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == nil {
		m.state = make([]pageState, (m.size+granule-1)/granule)
	}
	least = pagesMapped
	for i := first; i < last; i++ {
		least = min(least, m.state[i])
		m.state[i] = max(m.state[i], pagesWritten)
	}
	if least == pagesUnknown && !atOnce {
		return nil, least
	}
	m.prepare()
	return m.rw, least
}

// noteMapped notes that the granules from first to last are mapped for writing.
func (m *Mapping) noteMapped(first, last uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := first; i < last; i++ {
		m.state[i] = pagesMapped
	}
}

// writableMapping returns the writable mapping, nil if there is none.
func (m *Mapping) writableMapping() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rw
}

// forgetPages returns the writable mapping and forgets what is known of its pages.
func (m *Mapping) forgetPages() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.state)
	return m.rw
}

// stateAt returns what is known of the page at an offset.
func (m *Mapping) stateAt(off uint64) pageState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state[off/granule]
}

// prepare makes the writable mapping, if it can, and what is remembered of it; mu held.
func (m *Mapping) prepare() {
	if m.state == nil {
		m.state = make([]pageState, (m.size+granule-1)/granule)
	}
	if m.rw == nil {
		m.rw, _ = mapFile(m.fd, m.size, unix.PROT_READ|unix.PROT_WRITE)
	}
}

// Punch gives a range's pages back to the system; they read as zeros. For the
// daemon, on ranges from TakeIdle.
func (m *Mapping) Punch(off, size uint64) error {
	return m.withPages(off, size, func() error { return m.punch(off, size) })
}

// withPages calls f for a range, with use held.
func (m *Mapping) withPages(off, size uint64, f func() error) error {
	if err := m.check(off, size); err != nil || size == 0 {
		return err
	}
	m.use.RLock()
	defer m.use.RUnlock()
	if m.ro == nil {
		return ErrMappingClosed
	}
	return f()
}

// punch is Punch. The caller holds use.
func (m *Mapping) punch(off, size uint64) error {
	return m.fallocate("punch out", unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, size)
}

func (m *Mapping) fallocate(what string, mode uint32, off, size uint64) error {
	for {
		err := unix.Fallocate(m.fd, mode, int64(off), int64(size))
		if err == nil {
			return nil
		}
		if err != unix.EINTR {
			return fmt.Errorf("%s %d bytes at %d of the arena: %w", what, size, off, err)
		}
	}
}

func (m *Mapping) check(off, size uint64) error {
	if off > m.size || size > m.size-off {
		return fmt.Errorf("%w: %d bytes at %d of %d", ErrOutOfRange, size, off, m.size)
	}
	return nil
}
