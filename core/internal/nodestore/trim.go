package nodestore

import "time"

// trimEvery is how often a process unmaps the arena's pages that no value of
// its program shows. Within a minute it touches few such pages again.
const trimEvery = time.Minute

// What only the beginning of a session uses is over after beginTrim, or, where
// that takes long, the second time after as long as that and sureTrim.
const (
	beginTrim = 500 * time.Millisecond
	sureTrim  = 2 * time.Second
)

// MapArena makes the arena's memory readable here, once; with the mutex, or before the session has begun.
func (s *Store) MapArena() error {
	first, err := s.Store.MapArena()
	if first && err == nil {
		s.trimmer = time.AfterFunc(beginTrim, s.trimBegun)
	}
	return err
}

// trimBegun is the first function that the timer runs. Workers release memory when they have no work.
func (s *Store) trimBegun() { s.restThen(sureTrim, s.trimAgain) }

func (s *Store) trimAgain() { s.restThen(trimEvery, s.trimUnused) }

// restThen makes the program release unused memory, and the timer run f next.
func (s *Store) restThen(next time.Duration, f func()) {
	if s.rest != nil {
		s.rest()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		s.trimmer = time.AfterFunc(next, f)
	}
}

// trimUnused is run by the timer, again and again.
func (s *Store) trimUnused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return
	}
	used := s.LookedAt()
	s.unlocked(func() { s.Trim(used) })
	if s.over == nil {
		s.trimmer.Reset(trimEvery)
	}
}
