package queue

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Window holds the calls of a connection that were sent and not answered, by sequence number.
//
// A connection numbers its calls one after the other, and most answers come in order. So the calls lie in a window: a
// ring with a slot for each number from the oldest call without an answer to the newest. That costs less for each
// call than a map. Numbers wrap after the largest one. The zero value is empty and ready.
type Window[T any] struct {
	slots []*T   // as many as a power of two; slots of numbers that are not outstanding are nil
	first uint32 // the oldest number of the window
	next  uint32 // the number behind its newest
	calls int
	late  map[uint32]*T // calls that are older than the window
}

const (
	// maxWindow is how many consecutive numbers a window covers. A call that has no answer while so many later ones
	// are sent moves to a map, so that it holds no more slots than these.
	maxWindow = 1 << 14
	// keptWindow is the largest window that is kept when all calls are answered.
	keptWindow = 1 << 10
)

// Len returns how many calls there are.
func (s *Window[T]) Len() int { return s.calls }

func (s *Window[T]) covers(seq uint32) bool { return seq-s.first < s.next-s.first }

func (s *Window[T]) slot(seq uint32) **T { return &s.slots[seq&uint32(len(s.slots)-1)] }

// Get returns the call with this number, or nil.
func (s *Window[T]) Get(seq uint32) *T {
	if s.covers(seq) {
		return *s.slot(seq)
	}
	return s.late[seq]
}

// Add puts a call under its number, which is in use by no other call.
func (s *Window[T]) Add(seq uint32, t *T) {
	if s.calls == 0 {
		s.first, s.next = seq, seq
	}
	if int32(seq-s.next) >= 0 { // a successor's numbers may go on far behind those that it took over
		s.extend(seq)
	}
	s.calls++
	if s.covers(seq) {
		*s.slot(seq) = t
		return
	}
	s.setLate(seq, t)
}

// setLate keeps a call whose number is before the window.
func (s *Window[T]) setLate(seq uint32, t *T) {
	if s.late == nil {
		s.late = map[uint32]*T{}
	}
	s.late[seq] = t
}

// extend makes seq, which is behind the window, its newest number.
func (s *Window[T]) extend(seq uint32) {
	for seq-s.first >= maxWindow && s.first != s.next {
		if t := *s.slot(s.first); t != nil {
			*s.slot(s.first) = nil
			s.setLate(s.first, t)
		}
		s.first++
	}
	if s.first == s.next { // nothing is left between the old window and seq
		s.first = seq
	}
	if need := int(seq-s.first) + 1; need > len(s.slots) {
		s.grow(need)
	}
	s.next = seq + 1
}

func (s *Window[T]) grow(need int) {
	old, size := *s, max(8, len(s.slots))
	for size < need {
		size *= 2
	}
	s.slots = make([]*T, size)
	for seq := s.first; seq != s.next; seq++ {
		*s.slot(seq) = *old.slot(seq)
	}
}

// Take removes the call with this number and returns it, or nil when it is not outstanding.
func (s *Window[T]) Take(seq uint32) *T {
	t := s.Get(seq)
	switch {
	case t == nil:
		return nil
	case s.covers(seq):
		*s.slot(seq) = nil
		for s.first != s.next && *s.slot(s.first) == nil {
			s.first++
		}
	default:
		if delete(s.late, seq); len(s.late) == 0 {
			s.late = nil // a map stays as large as it has been
		}
	}
	if s.calls--; s.calls == 0 && len(s.slots) > keptWindow {
		s.slots, s.first = nil, s.next
	}
	return t
}

// All yields the calls in the order in which they were sent.
func (s *Window[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		// Numbers wrap: the distance to the window says which call is older.
		older := func(a, b uint32) int { return cmp.Compare(s.first-b, s.first-a) }
		for _, seq := range slices.SortedFunc(maps.Keys(s.late), older) {
			if !yield(s.late[seq]) {
				return
			}
		}
		for seq := s.first; seq != s.next; seq++ {
			if t := *s.slot(seq); t != nil && !yield(t) {
				return
			}
		}
	}
}

// TakeAll removes all calls and returns them in the order in which they were sent.
func (s *Window[T]) TakeAll() []*T {
	list := make([]*T, 0, s.calls)
	for t := range s.All() {
		list = append(list, t)
	}
	*s = Window[T]{}
	return list
}
