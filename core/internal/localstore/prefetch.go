package localstore

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// A get of a list takes its values one after another, and a value that was spilled
// comes back from disk meanwhile. So the values that follow are asked for together
// with the one that is taken. They stay pinned until they are taken, or until
// somebody needs the room.

// Bounds of what is prefetched.
const (
	prefetchMost  = 16 // objects
	prefetchShare = 16 // one of so many bytes of the arena
)

// Expect notes that the program is about to take these values, in this order. The
// note is a hint: that of another get may take its place.
func (s *Store) Expect(objs []*refs.Object) {
	n := 0
	for _, o := range objs {
		if MustFetch(o) {
			n++
		}
	}
	if n < 2 {
		return
	}
	s.expected = make([]ids.Object, 0, n)
	for _, o := range objs {
		if MustFetch(o) {
			s.expected = append(s.expected, o.ID)
		}
	}
}

// PinNext is Pin for a value that the program takes. It also asks for the values that the
// program is expected to take next.
func (s *Store) PinNext(o *refs.Object) (*View, *Pinning) {
	if len(s.expected) > 0 {
		s.prefetch(o.ID)
	}
	return s.Pin(o.ID)
}

// prefetch asks for the values that follow one which is being taken.
func (s *Store) prefetch(id ids.Object) {
	at := 0
	for at < len(s.expected) && s.expected[at] != id {
		at++
	}
	if at == len(s.expected) {
		return // it belongs to another get
	}
	if s.expected = s.expected[at+1:]; len(s.expected) == 0 {
		s.expected = nil
		return
	}
	if s.mapped[id] == nil {
		s.ask(id) // the daemon shall look for this one first; who takes it joins
	}
	room := s.mapping.Size() / prefetchShare
	for _, next := range s.expected[:min(prefetchMost, len(s.expected))] {
		o := s.table.Find(next)
		if o == nil || !MustFetch(o) {
			continue
		}
		if o.Size() > room {
			return
		}
		room -= o.Size()
		if s.mapped[next] == nil && s.pinnings[next] == nil {
			s.ask(next).prefetched = true
		}
	}
}
