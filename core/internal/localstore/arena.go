package localstore

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/store"
)

// SetArena takes the descriptor of the arena, which MapArena or Close closes.
func (s *Store) SetArena(fd int, bytes uint64) {
	s.mapping.fd, s.mapping.size, s.mapping.open = fd, bytes, true
}

// MapArena makes the arena's memory readable here, once. first reports whether this call has done so.
func (s *Store) MapArena() (first bool, err error) {
	a := &s.mapping
	if !a.open {
		return false, nil
	}
	m, err := store.Map(a.fd, a.size)
	a.closeDescriptor() // the mapping has its own
	if err != nil {
		return false, fmt.Errorf("map the object arena: %w", err)
	}
	a.Mapping = m
	return true, nil
}

// Close ends all use of the store by this session. What the program still looks
// at stays mapped until the program lets go of it, see orphans.go.
func (s *Store) Close() {
	a := &s.mapping
	if a.Mapping != nil {
		abandon(a.Mapping, s.views)
		clear(s.views) // what is let go of from now on is an orphan's
	}
	a.closeDescriptor()
}

// closeDescriptor closes the descriptor.
func (a *arena) closeDescriptor() {
	if a.open {
		unix.Close(a.fd)
		a.open = false
	}
}
