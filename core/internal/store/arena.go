package store

import (
	"errors"
	"fmt"
	"sync"
)

// pageSize is the unit of the arena. Ranges never share a page, so that a range can be written
// by pwrite, mapped or punched out without its neighbours. Stored objects are larger than
// 100 KiB, so rounding up costs little.
const pageSize = 4096

// ErrNotAllocated reports an offset that no allocation starts at.
var ErrNotAllocated = errors.New("no allocation at this offset")

// Arena hands out page-aligned ranges of the offsets [0, size). It prefers warm ranges, whose
// pages exist because they were written before; among these the tightest fit; and among equal
// ones the one that was freed last.
type Arena struct {
	mu       sync.Mutex
	capacity uint64
	first    *block // at offset 0
	used     map[uint64]*block
	free     tree // free blocks by size
	warm     tree // free blocks with a warm part, by its size
	ticks    uint64
	stats    ArenaStats
}

// ArenaStats describes an arena, in bytes where not said otherwise.
type ArenaStats struct {
	Capacity    uint64
	Used        uint64 // handed out, rounding included
	Peak        uint64 // largest Used so far
	Objects     int    // ranges handed out
	FreeWarm    uint64 // free, with pages that exist
	LargestFree uint64
}

// block is a range, free or in use. A range in use may have pages up to half a megabyte before
// its start (see huge.go); these count as its own.
type block struct {
	off, size  uint64
	warm       uint64 // of a free block: how many bytes at the start are taken for warm
	reach      uint64 // of a free block: behind so many bytes no page exists; at least warm
	tick       uint64 // of a free block: the number of the latest free that added written memory to it, from 1
	prev, next *block // neighbours by offset
	inUse      bool
	links      [2]links
}

// NewArena returns an empty arena of size bytes, rounded down to pages.
func NewArena(size uint64) *Arena {
	size -= size % pageSize
	a := &Arena{
		capacity: size,
		used:     make(map[uint64]*block),
		free:     tree{which: bySize},
		warm:     tree{which: byWarm},
	}
	a.stats.Capacity = size
	if size > 0 {
		a.first = &block{size: size}
		a.addFree(a.first)
	}
	return a
}

// Alloc hands out a range of at least size bytes, rounded up to pages. It fails
// only when no free range is long enough.
func (a *Arena) Alloc(size uint64) (off uint64, ok bool) {
	if size > a.capacity {
		return 0, false
	}
	size = wholePages(size)
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.warm.atLeast(size)
	if b == nil {
		b = a.free.atLeast(size)
	}
	if b == nil {
		return 0, false
	}
	a.take(b, b.off, size)
	return b.off, true
}

// wholePages rounds a size up to pages, at least one.
func wholePages(size uint64) uint64 { return (max(size, 1) + pageSize - 1) &^ (pageSize - 1) }

// Free takes back a range whose pages were written.
func (a *Arena) Free(off uint64) error { return a.giveBack(off, true) }

// FreeCold takes back a range whose pages were punched out. (A range that was not written may
// still have pages of an earlier object: such a range goes to Free.)
func (a *Arena) FreeCold(off uint64) error { return a.giveBack(off, false) }

// TakeIdle hands out up to most bytes of memory whose pages may exist and that has been free
// since Ticks returned the value since. The caller punches the pages out and calls FreeCold.
func (a *Arena) TakeIdle(since, most uint64) (off, size uint64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free.descend(a.free.root, func(b *block) bool {
		lo, hi := b.off, b.off+b.reach
		if b.tick <= since && lo < hi {
			size = min(hi-lo, most&^(pageSize-1))
			off, ok = hi-size, size > 0
			if ok {
				a.take(b, off, size)
			}
			return false
		}
		return true
	})
	return off, size, ok
}

// Ticks returns the number of frees so far. A caller that notes it at intervals can tell
// TakeIdle for how long memory must have been free.
func (a *Arena) Ticks() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ticks
}

// Stats returns the arena's state.
func (a *Arena) Stats() ArenaStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats
	s.Objects = len(a.used)
	if b := a.free.max(); b != nil {
		s.LargestFree = b.size
	}
	return s
}

// take cuts [off, off+size) out of the free block b and marks it used.
func (a *Arena) take(b *block, off, size uint64) {
	a.dropFree(b)
	if gap := off - b.off; gap > 0 {
		b = b.cut(gap)
		a.addFree(b.prev)
	}
	if b.size > size {
		a.addFree(b.cut(size))
	}
	b.inUse = true
	a.used[b.off] = b
	a.stats.Used += b.size
	a.stats.Peak = max(a.stats.Peak, a.stats.Used)
}

// cut shortens b to size bytes and returns the rest as its next block.
func (b *block) cut(size uint64) *block {
	rest := &block{
		off: b.off + size, size: b.size - size,
		warm: b.warm - min(b.warm, size), reach: b.reach - min(b.reach, size),
		tick: b.tick, prev: b, next: b.next,
	}
	if b.next != nil {
		b.next.prev = rest
	}
	b.next, b.size = rest, size
	b.warm, b.reach = min(b.warm, size), min(b.reach, size)
	return rest
}

func (a *Arena) giveBack(off uint64, written bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.freeLocked(off, written)
}

func (a *Arena) freeLocked(off uint64, written bool) error {
	b := a.used[off]
	if b == nil {
		return fmt.Errorf("free offset %d: %w", off, ErrNotAllocated)
	}
	delete(a.used, off)
	a.stats.Used -= b.size
	b.inUse, b.warm, b.reach, b.tick = false, 0, 0, 0
	if written {
		a.ticks++
		b.warm, b.reach, b.tick = b.size, b.size, a.ticks
	}
	if n := b.next; n != nil && !n.inUse {
		a.dropFree(n)
		b.join(n)
	}
	if p := b.prev; p != nil && !p.inUse {
		a.dropFree(p)
		p.join(b)
		b = p
	}
	a.addFree(b)
	return nil
}

// join lets b, which is free, grow over its free neighbour n. Only a prefix of a block can be
// warm. When a cold part lies between two warm ones, the longer of the two decides whether all
// three count as warm, or only the first; reach still says how far pages may exist.
func (b *block) join(n *block) {
	if b.warm == b.size || n.warm > b.warm {
		b.warm = b.size + n.warm
	}
	if n.reach > 0 {
		b.reach = b.size + n.reach
	}
	b.size += n.size
	b.tick = max(b.tick, n.tick)
	b.next = n.next
	if n.next != nil {
		n.next.prev = b
	}
}

func (a *Arena) addFree(b *block) {
	a.free.insert(b)
	if b.warm > 0 {
		a.warm.insert(b)
		a.stats.FreeWarm += b.warm
	}
}

func (a *Arena) dropFree(b *block) {
	a.free.remove(b)
	if b.warm > 0 {
		a.warm.remove(b)
		a.stats.FreeWarm -= b.warm
	}
}
