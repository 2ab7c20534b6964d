package client

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

const (
	// maxWindow is how many consecutive numbers a window covers. A call that has no answer while so many later ones
	// are sent moves to a map, so that it holds no more slots than these.
	maxWindow = 1 << 14
	// keptWindow is the largest window that is kept when all calls are answered.
	keptWindow = 1 << 10
)

// outstanding holds the calls of a connection that were sent and not answered, by sequence number.
//
// A connection numbers its calls one after the other, and most answers come in order. So the calls lie in a window: a
// ring with a slot for each number from the oldest call without an answer to the newest. That costs less for each
// call than a map. Numbers wrap after the largest one. The zero value is empty and ready.
type outstanding struct {
	slots []*task // as many as a power of two; slots of numbers that are not outstanding are nil
	first uint32  // the oldest number of the window
	next  uint32  // the number behind its newest
	calls int
	late  map[uint32]*task // calls that are older than the window
}

func (s *outstanding) len() int { return s.calls }

func (s *outstanding) covers(seq uint32) bool { return seq-s.first < s.next-s.first }

func (s *outstanding) slot(seq uint32) **task { return &s.slots[seq&uint32(len(s.slots)-1)] }

// get returns the call with this number, or nil.
func (s *outstanding) get(seq uint32) *task {
	if s.covers(seq) {
		return *s.slot(seq)
	}
	return s.late[seq]
}

// add puts a call under its number, which is in use by no other call.
func (s *outstanding) add(t *task) {
	if s.calls == 0 {
		s.first, s.next = t.seq, t.seq
	}
	if int32(t.seq-s.next) >= 0 { // a successor's numbers may go on far behind those that it took over
		s.extend(t.seq)
	}
	s.calls++
	if s.covers(t.seq) {
		*s.slot(t.seq) = t
		return
	}
	s.setLate(t)
}

// setLate keeps a call whose number is before the window.
func (s *outstanding) setLate(t *task) {
	if s.late == nil {
		s.late = map[uint32]*task{}
	}
	s.late[t.seq] = t
}

// extend makes seq, which is behind the window, its newest number.
func (s *outstanding) extend(seq uint32) {
	for seq-s.first >= maxWindow && s.first != s.next {
		if t := *s.slot(s.first); t != nil {
			*s.slot(s.first) = nil
			s.setLate(t)
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

func (s *outstanding) grow(need int) {
	old, size := *s, max(8, len(s.slots))
	for size < need {
		size *= 2
	}
	s.slots = make([]*task, size)
	for seq := s.first; seq != s.next; seq++ {
		*s.slot(seq) = *old.slot(seq)
	}
}

// take removes the call with this number and returns it, or nil when it is not outstanding.
func (s *outstanding) take(seq uint32) *task {
	t := s.get(seq)
	switch {
	case t == nil:
		return nil
	case s.covers(seq):
		*s.slot(seq) = nil
		for s.first != s.next && *s.slot(s.first) == nil {
			s.first++
		}
	default:
		delete(s.late, seq)
	}
	if s.calls--; s.calls == 0 && len(s.slots) > keptWindow {
		s.slots, s.first = nil, s.next
	}
	return t
}

// all yields the calls in the order in which they were sent.
func (s *outstanding) all() iter.Seq[*task] {
	return func(yield func(*task) bool) {
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

// takeAll removes all calls and returns them in the order in which they were sent.
func (s *outstanding) takeAll() []*task {
	list := make([]*task, 0, s.calls)
	for t := range s.all() {
		list = append(list, t)
	}
	*s = outstanding{}
	return list
}
