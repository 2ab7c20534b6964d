package localstore

import "github.com/eagleray/eagleray/core/internal/store"

// A process lets go of the arena's pages that nothing in it looks at: they would
// count as its memory although they are everybody's.

// LookedAt returns the ranges of the arena that somebody in this process looks at.
func (s *Store) LookedAt() (used []store.Span) {
	for _, v := range s.views {
		if v.file == nil && v.holds > 0 && v != s.spare.view {
			used = append(used, v.span())
		}
	}
	return used
}

// Trim lets go of all other pages of the arena. It needs no mutex, and may take a while.
func (s *Store) Trim(used []store.Span) { s.mapping.Trim(used) }
