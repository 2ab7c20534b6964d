package client

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Answers of quick tasks share a write, so a worker that is killed may have run
// more than the one task that it was at. Which ones is told by a word that the
// caller and its worker share: the worker stores a task's number there before
// it runs it, which costs no system call. Tasks that had begun have used one of
// their runs; those behind them are sent elsewhere and have not.
//
// The words of all leases of a process are on one page of its own, whose
// descriptor goes with the hello. Half of a word is a check that depends on the
// lease: what a stray pointer, or a worker of an earlier lease, writes tells nothing.

const (
	begunBytes = 16 << 10
	begunSlots = begunBytes / 8
)

// begunPage is the caller's page. Slot 0 stands for none.
type begunPage struct {
	mem  []byte
	fd   int
	used int   // slots that were ever taken
	free []int // of those
}

// begunSlot returns a slot for a lease, 0 when there is none, and the descriptor of the page; mu held.
func (c *Client) begunSlot(lease uint64) (slot, fd int) {
	p := c.begun
	if p == nil {
		var err error
		if p, err = newBegunPage(); err != nil {
			c.warn("which tasks a lost worker had begun will not be known: %v", err)
			p = &begunPage{fd: -1, used: begunSlots}
		} else {
			c.opened(p.fd)
		}
		c.begun = p
	}
	switch n := len(p.free); {
	case n > 0:
		slot = p.free[n-1]
		p.free = p.free[:n-1]
	case p.used < begunSlots-1:
		p.used++
		slot = p.used
	default:
		return 0, -1
	}
	atomic.StoreUint64(begunWord(p.mem, slot), begunValue(0, lease))
	return slot, p.fd
}

func newBegunPage() (*begunPage, error) {
	fd, err := unix.MemfdCreate("eagleray-begun", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make the page of begun tasks: %w", err)
	}
	var mem []byte
	if err = unix.Ftruncate(fd, begunBytes); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		mem, err = unix.Mmap(fd, 0, begunBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("make the page of begun tasks: %w", err)
	}
	return &begunPage{mem: mem, fd: fd}, nil
}

// lastBegun gives a lease's slot back and returns the number of the task that
// its worker began last, 0 for none; false: it is not known; mu held.
func (c *Client) lastBegun(l *lease) (seq uint32, known bool) {
	slot := l.slot
	if slot == 0 || c.begun == nil || c.begun.mem == nil {
		return 0, false
	}
	w := atomic.LoadUint64(begunWord(c.begun.mem, slot))
	l.slot = 0
	c.begun.free = append(c.begun.free, slot)
	return uint32(w), w == begunValue(uint32(w), l.id)
}

// dropBegun gives the page back; mu held.
func (c *Client) dropBegun() {
	if p := c.begun; p != nil && p.mem != nil {
		c.closing(p.fd)
		unix.Close(p.fd)
		_ = unix.Munmap(p.mem) // fails for what is no mapping only
		p.mem, p.fd, p.used, p.free = nil, -1, begunSlots, nil
	}
}

func begunWord(mem []byte, slot int) *uint64 {
	return (*uint64)(unsafe.Pointer(&mem[slot*8]))
}

// begunValue is a number with its check.
func begunValue(seq uint32, lease uint64) uint64 {
	x := (uint64(seq)<<32 | uint64(seq)) ^ (lease+1)*0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return uint64(seq) | x&^0xffffffff
}

// begunMark is the worker's side: the word of one caller's connection. The zero one takes numbers and drops them.
type begunMark struct {
	mem   []byte
	word  *uint64
	lease uint64
}

// openMark maps the page that a caller sent; what is no such page is ignored.
func openMark(fd, slot int, lease uint64) begunMark {
	var s unix.Stat_t
	if fd < 0 || slot <= 0 || slot >= begunSlots || unix.Fstat(fd, &s) != nil || s.Size < begunBytes {
		return begunMark{}
	}
	mem, err := unix.Mmap(fd, 0, begunBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return begunMark{}
	}
	return begunMark{mem: mem, word: begunWord(mem, slot), lease: lease}
}

// set notes that a task is about to run.
func (m *begunMark) set(seq uint32) {
	if m.word != nil {
		atomic.StoreUint64(m.word, begunValue(seq, m.lease))
	}
}

func (m *begunMark) close() {
	if m.mem != nil {
		_ = unix.Munmap(m.mem)
		*m = begunMark{}
	}
}

// begunOf returns how many of a lost lease's tasks, in the order in which they
// were sent, had begun: the first one when nobody knows; mu held.
func (c *Client) begunOf(l *lease, tasks []*task) int {
	last, known := c.lastBegun(l)
	if !known {
		return min(1, len(tasks))
	}
	n := 0
	for n < len(tasks) && int32(tasks[n].seq-last) <= 0 {
		n++
	}
	return n
}
