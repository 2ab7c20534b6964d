package store

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"
)

// Span is a range of the arena in use.
type Span struct{ Off, Size uint64 }

// Rest unmaps the pages that this process has touched, those of used excepted:
// each comes back with a fault. They stay in the arena; what goes is their count
// in the process's resident size, which would else end as the whole arena's,
// and the tables behind it. Used may be in any order, and ranges may overlap.
func (m *Mapping) Rest(used []Span) {
	m.use.RLock()
	defer m.use.RUnlock()
	if m.ro == nil {
		return
	}
	m.mu.Lock()
	rw := m.rw
	clear(m.state)
	m.mu.Unlock()
	if rw != nil {
		_ = unix.Madvise(rw, unix.MADV_DONTNEED) // advice: nothing is wrong when it is not taken
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
