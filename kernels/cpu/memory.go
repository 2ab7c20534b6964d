package cpu

/*
#include <stdlib.h>
*/
import "C"

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Memory of up to largest small bytes comes from C's allocator in powers of
// two, more from mmap. What is freed is kept for the next allocation: a few
// small blocks of each size, and large ones up to keepLarge bytes together for
// keepFor after the last one came back.
const (
	align      = 64
	maxSmall   = 1 << 20
	smallBytes = 1 << 20 // kept of each size, at most
	largeUnit  = 1 << 16
	hugePage   = 2 << 20
	keepLarge  = 512 << 20
	keepFor    = 10 * time.Second
)

// memory is one allocation.
type memory struct {
	ptr  unsafe.Pointer
	size int
	room int // what was allocated; 0 where it is somebody else's
	gone atomic.Bool
}

func (m *memory) Ptr() unsafe.Pointer { return m.ptr }
func (m *memory) Size() int           { return m.size }

func (m *memory) Free() error {
	if m.room == 0 || m.gone.Swap(true) {
		return nil
	}
	if exact {
		C.free(m.ptr)
	} else {
		kept.put(m.ptr, m.room)
	}
	return nil
}

// Adopt wraps memory of somebody else, who frees it.
func (device) Adopt(ptr unsafe.Pointer, size int) backend.Memory {
	return &memory{ptr: ptr, size: size}
}

func (device) Alloc(size int) (backend.Memory, error) {
	if exact {
		return allocExact(size)
	}
	room := roomFor(size)
	if room < size {
		return nil, outOfMemory(size)
	}
	p, found := kept.get(room)
	if p != nil {
		room = found
	} else {
		if p = fresh(room); p == nil {
			kept.release()
			if p = fresh(room); p == nil {
				return nil, outOfMemory(size)
			}
		}
	}
	return &memory{ptr: p, size: size, room: room}, nil
}

// allocExact leaves nothing behind the memory's end that could be used by
// mistake, and nothing is used again: for the address sanitizer.
func allocExact(size int) (backend.Memory, error) {
	var p unsafe.Pointer
	if !budget.spend(size) || C.posix_memalign(&p, align, C.size_t(size)) != 0 {
		return nil, outOfMemory(size)
	}
	return &memory{ptr: p, size: size, room: size}, nil
}

// roomFor rounds a size up, negative when it cannot be.
func roomFor(size int) int {
	switch {
	case size <= align:
		return align
	case size <= maxSmall:
		return 1 << bits.Len(uint(size-1))
	case size < 2*hugePage:
		return (size + largeUnit - 1) &^ (largeUnit - 1)
	}
	return (size + hugePage - 1) &^ (hugePage - 1)
}

// fresh takes memory from the system, nil when it has too little.
func fresh(room int) unsafe.Pointer {
	if !budget.spend(room) {
		return nil
	}
	if room <= maxSmall {
		return C.aligned_alloc(align, C.size_t(room))
	}
	// Huge pages need an aligned start; what is before it goes back at once.
	slack := 0
	if room >= 2*hugePage {
		slack = hugePage
	}
	p, err := mmap(room + slack)
	if err != nil {
		return nil
	}
	if slack != 0 {
		before := int(-uintptr(p) & (hugePage - 1))
		if before > 0 {
			munmap(p, before)
		}
		if after := slack - before; after > 0 {
			munmap(unsafe.Add(p, before+room), after)
		}
		p = unsafe.Add(p, before)
		_ = syscall.Madvise(unsafe.Slice((*byte)(p), room), syscall.MADV_HUGEPAGE) // a hint
	}
	return p
}

func giveBack(p unsafe.Pointer, room int) {
	if room <= maxSmall {
		C.free(p)
	} else {
		munmap(p, room)
	}
}

// cache is memory that was freed and may be used again.
type cache struct {
	mu    sync.Mutex
	small [21][]unsafe.Pointer // by the logarithm of the size
	large []piece              // the latest freed last
	bytes int                  // of large
	timer *time.Timer
	used  time.Time // when large last changed
}

type piece struct {
	ptr  unsafe.Pointer
	room int
}

var kept cache

// get returns kept memory and how much it is, which may be somewhat more.
func (c *cache) get(room int) (p unsafe.Pointer, found int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if room <= maxSmall {
		class := bits.TrailingZeros(uint(room))
		n := len(c.small[class])
		if n == 0 {
			return nil, 0
		}
		p := c.small[class][n-1]
		c.small[class] = c.small[class][:n-1]
		return p, room
	}
	for i := len(c.large) - 1; i >= 0; i-- {
		if l := c.large[i]; l.room >= room && l.room <= room+room/8 {
			c.large = slices.Delete(c.large, i, i+1)
			c.bytes -= l.room
			return l.ptr, l.room
		}
	}
	return nil, 0
}

func (c *cache) put(p unsafe.Pointer, room int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if room <= maxSmall {
		class := bits.TrailingZeros(uint(room))
		if len(c.small[class]) < smallBytes/room {
			c.small[class] = append(c.small[class], p)
		} else {
			giveBack(p, room)
		}
		return
	}
	if room > keepLarge {
		giveBack(p, room)
		return
	}
	for c.bytes+room > keepLarge {
		c.bytes -= c.large[0].room
		giveBack(c.large[0].ptr, c.large[0].room)
		c.large = c.large[1:]
	}
	c.large = append(c.large, piece{p, room})
	c.bytes += room
	c.used = time.Now()
	if c.timer == nil {
		c.timer = time.AfterFunc(keepFor, c.expire)
	}
}

// expire gives the large blocks back once none was used for keepFor.
func (c *cache) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := keepFor - time.Since(c.used); left > 0 {
		c.timer.Reset(left)
		return
	}
	c.timer = nil
	c.drop()
}

// release gives the large blocks back now.
func (c *cache) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}

func (c *cache) drop() {
	for _, l := range c.large {
		giveBack(l.ptr, l.room)
	}
	c.large, c.bytes = nil, 0
}
