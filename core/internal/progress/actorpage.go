package progress

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
)

// pageSize is the size of a page in bytes. Memory is taken for what is written.
const pageSize = 64 << 10

// head is the beginning of a page.
type head struct {
	magic uint64
	salt  uint64 // the daemon's, different for each page
	used  uint64 // how many slots were ever used, checked
	_     uint64
}

// slot is the place of one caller's connection.
type slot struct {
	who   [ids.OwnerSize]byte
	conn  uint32
	check uint64 // of who and conn; 0: free, or being taken
	seq   uint64 // the latest call that was begun, checked
}

const (
	magic    = 0x5354415254454431
	headSize = int(unsafe.Sizeof(head{}))
	slotSize = int(unsafe.Sizeof(slot{}))
	maxSlots = (pageSize - headSize) / slotSize
	// overfull as the number of used slots: there was a caller without one.
	overfull = maxSlots + 1
)

// page is a mapping.
type page struct{ mem []byte }

func (p *page) head() *head { return (*head)(unsafe.Pointer(&p.mem[0])) }

func (p *page) slot(i int) *slot {
	return (*slot)(unsafe.Pointer(&p.mem[headSize+i*slotSize]))
}

// checked packs a number with its check.
func checked(n uint32, salt uint64) uint64 {
	return uint64(n) | uint64(mix(uint64(n)^salt))<<32
}

// unchecked unpacks it; false when the check is wrong.
func unchecked(w, salt uint64) (uint32, bool) {
	n := uint32(w)
	return n, checked(n, salt) == w
}

// mix spreads the bits of x.
func mix(x uint64) uint32 {
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	return uint32(x >> 32)
}

// identity is the check of a slot's owner, never 0.
func identity(who ids.Owner, conn uint32, salt uint64) uint64 {
	h := salt ^ uint64(conn)
	for _, b := range who {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	return h | 1
}

// mapPage maps the descriptor of a page.
func mapPage(fd, prot int) (page, error) {
	mem, err := unix.Mmap(fd, 0, pageSize, prot, unix.MAP_SHARED)
	if err != nil {
		return page{}, fmt.Errorf("map the page of begun calls: %w", err)
	}
	return page{mem}, nil
}

func (p *page) close() {
	if p.mem != nil {
		_ = unix.Munmap(p.mem) // fails for what is no mapping only
		p.mem = nil
	}
}

func load(w *uint64) uint64     { return atomic.LoadUint64(w) }
func store(w *uint64, v uint64) { atomic.StoreUint64(w, v) }
