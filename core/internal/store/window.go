package store

import "fmt"

// Piece is a part of a window: a range that was free, or a range in use.
type Piece struct {
	Off, Size uint64
	Free      bool
}

// Window finds neighbouring ranges that together could become one range of size bytes, and
// among all such windows the one that costs least. cost returns the cost of a range in use, or
// false if that range must stay. The free ranges of the window are handed out now, the last of
// them only as far as it is needed. The caller calls Merge when it has the other ranges, too.
func (a *Arena) Window(size uint64, cost func(off, size uint64) (uint64, bool)) (pieces []Piece, ok bool) {
	size = wholePages(size)
	a.mu.Lock()
	defer a.mu.Unlock()
	if size > a.capacity {
		return nil, false
	}
	costs := make(map[*block]uint64) // of the blocks between first and b
	var best, first *block
	least, have, sum := uint64(0), uint64(0), uint64(0)
	for b := a.first; b != nil; b = b.next {
		price, can := uint64(0), true
		if b.inUse {
			price, can = cost(b.off, b.size)
		}
		if !can {
			first, have, sum = nil, 0, 0
			continue
		}
		if first == nil {
			first = b
		}
		costs[b] = price
		have, sum = have+b.size, sum+price
		for have-first.size >= size {
			have, sum = have-first.size, sum-costs[first]
			first = first.next
		}
		if have >= size && (best == nil || sum < least) {
			best, least = first, sum
		}
	}
	if best == nil {
		return nil, false
	}
	for b, left := best, size; left > 0; b = b.next {
		free := !b.inUse
		if free {
			a.take(b, b.off, min(b.size, left))
		}
		pieces = append(pieces, Piece{Off: b.off, Size: b.size, Free: free})
		left -= min(left, b.size)
	}
	return pieces, true
}

// Merge makes one range of size bytes of the neighbouring ranges that begin at off, all of
// which were handed out. What they have beyond size becomes free.
func (a *Arena) Merge(off, size uint64) error {
	size = wholePages(size)
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.used[off]
	if b == nil {
		return fmt.Errorf("merge at %d: %w", off, ErrNotAllocated)
	}
	for b.size < size {
		n := b.next
		if n == nil || !n.inUse {
			return fmt.Errorf("merge %d bytes at %d: %w", size, off, ErrNotAllocated)
		}
		delete(a.used, n.off)
		b.size += n.size
		b.next = n.next
		if n.next != nil {
			n.next.prev = b
		}
	}
	if b.size > size {
		rest := b.cut(size)
		rest.inUse = true
		a.used[rest.off] = rest
		return a.freeLocked(rest.off, true)
	}
	return nil
}
