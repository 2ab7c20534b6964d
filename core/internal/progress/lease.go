package progress

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Answers of quick tasks share a write, so a worker that is killed may have run
// more than the one task that it was at. Tasks that had begun have used one of
// their runs; those behind them are sent elsewhere and have not. The words of all
// leases of a caller are on one page, whose descriptor goes with the hello to
// each worker. The check in a word depends on the lease: what a stray pointer, or
// a worker of an earlier lease, writes tells nothing.

const leaseBytes = 16 << 10

// LeaseSlots is how many slots a LeasePage has. Slot 0 stands for none.
const LeaseSlots = leaseBytes / 8

// LeasePage is the page of a caller. The zero LeasePage has no slot to give.
type LeasePage struct {
	mem  []byte // nil: closed
	fd   int
	used int   // slots that were ever taken
	free []int // of those
}

// NewLeasePage makes a page. The caller has to close it.
func NewLeasePage() (*LeasePage, error) {
	fd, err := unix.MemfdCreate("eagleray-begun", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make the page of begun tasks: %w", err)
	}
	var mem []byte
	if err = unix.Ftruncate(fd, leaseBytes); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		mem, err = unix.Mmap(fd, 0, leaseBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("make the page of begun tasks: %w", err)
	}
	return &LeasePage{mem: mem, fd: fd}, nil
}

// FD returns the descriptor that a worker gets, -1 when there is no page.
func (p *LeasePage) FD() int {
	if p.mem == nil {
		return -1
	}
	return p.fd
}

// Take gives a lease a slot; 0: there is none left.
func (p *LeasePage) Take(lease uint64) (slot int) {
	switch n := len(p.free); {
	case p.mem == nil:
		return 0
	case n > 0:
		slot = p.free[n-1]
		p.free = p.free[:n-1]
	case p.used < LeaseSlots-1:
		p.used++
		slot = p.used
	default:
		return 0
	}
	atomic.StoreUint64(leaseWord(p.mem, slot), leaseValue(0, lease))
	return slot
}

// GiveBack takes the slot of a lease back and returns the number of the task that
// its worker began last, 0 for none. Known is false when the page does not say.
func (p *LeasePage) GiveBack(slot int, lease uint64) (seq uint32, known bool) {
	if slot == 0 || p.mem == nil {
		return 0, false
	}
	w := atomic.LoadUint64(leaseWord(p.mem, slot))
	p.free = append(p.free, slot)
	return uint32(w), w == leaseValue(uint32(w), lease)
}

// Close gives the memory back. Nothing is known from then on.
func (p *LeasePage) Close() {
	if p.mem != nil {
		unix.Close(p.fd)
		_ = unix.Munmap(p.mem) // it fails only for what is no mapping
		*p = LeasePage{}
	}
}

func leaseWord(mem []byte, slot int) *uint64 {
	return (*uint64)(unsafe.Pointer(&mem[slot*8]))
}

// leaseValue is a number with its check.
func leaseValue(seq uint32, lease uint64) uint64 {
	x := (uint64(seq)<<32 | uint64(seq)) ^ (lease+1)*0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return uint64(seq) | x&^0xffffffff
}

// Mark is the worker's side of a LeasePage: the word of one lease. The zero Mark
// takes numbers and drops them.
type Mark struct {
	mem   []byte
	word  *uint64
	lease uint64
}

// OpenMark maps the page that a caller has sent. The descriptor stays the
// caller's. What is no such page is ignored.
func OpenMark(fd, slot int, lease uint64) Mark {
	var s unix.Stat_t
	if fd < 0 || slot <= 0 || slot >= LeaseSlots || unix.Fstat(fd, &s) != nil || s.Size < leaseBytes {
		return Mark{}
	}
	mem, err := unix.Mmap(fd, 0, leaseBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return Mark{}
	}
	return Mark{mem: mem, word: leaseWord(mem, slot), lease: lease}
}

// Set notes that a task is about to run.
func (m *Mark) Set(seq uint32) {
	if m.word != nil {
		atomic.StoreUint64(m.word, leaseValue(seq, m.lease))
	}
}

// Close unmaps the page.
func (m *Mark) Close() {
	if m.mem != nil {
		_ = unix.Munmap(m.mem) // it fails only for what is no mapping
		*m = Mark{}
	}
}
