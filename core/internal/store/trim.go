package store

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"
)

// Span is a range of the arena in use.
type Span struct{ Off, Size uint64 }

// Trim unmaps the pages that this process has touched, except for those of the ranges used,
// which may be in any order and may overlap. An unmapped page stays in the arena and comes
// back at the next access, with a fault. What goes is its part of the process's resident
// size, which would else grow up to the size of the arena, and of the page tables.
func (m *Mapping) Trim(used []Span) {
	m.use.RLock()
	defer m.use.RUnlock()
	if m.ro == nil {
		return
	}
	if rw := m.forgetPages(); rw != nil {
		_ = unix.Madvise(rw, unix.MADV_DONTNEED) // it is only advice, so an error does no harm
	}
	slices.SortFunc(used, func(a, b Span) int { return cmp.Compare(a.Off, b.Off) })
	from := uint64(0)
	for _, s := range append(used, Span{m.size, 0}) {
		start, end := (from+pageSize-1)&^(pageSize-1), min(s.Off, m.size)&^(pageSize-1)
		if start < end {
			_ = unix.Madvise(m.ro[start:end], unix.MADV_DONTNEED)
		}
		from = max(from, min(s.Off+s.Size, m.size))
	}
}
