package localstore

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// A task's small arguments travel in its message. Where they are too many for one
// message, they are promoted: written to the arena.

// promoteOpen is how many requests for room are under way at a time. One after the
// other each would wait for the daemon.
const promoteOpen = 64

// Promotion moves small values of this process to the arena. Promote and Promoted
// need the session's mutex; between them the caller runs, without it,
//
//	for p.Next() {
//		p.Write(<-p.Rooms())
//	}
type Promotion struct {
	s      *Store
	list   []*refs.Object
	values [][]byte
	moved  []bool
	rooms  chan *Room
	asked  int // requests that were made
	open   int // those of them that are not seen to
	err    error
}

// Promote begins to move the values of objects, which must be distinct and pinned.
func (s *Store) Promote(list []*refs.Object) *Promotion {
	p := &Promotion{
		s: s, list: list, values: make([][]byte, len(list)), moved: make([]bool, len(list)), rooms: make(chan *Room, promoteOpen),
	}
	for i, o := range list {
		p.values[i] = o.Value()
	}
	return p
}

// Next asks for more room, and reports whether an answer is to come.
func (p *Promotion) Next() bool {
	for p.err == nil && p.asked < len(p.list) && p.open < promoteOpen {
		i := p.asked
		p.asked++
		p.open++
		p.s.daemon.Create(&Room{i: i, id: p.list[i].ID, size: uint64(len(p.values[i])), to: p.rooms})
	}
	return p.open > 0
}

// Rooms gives the answers.
func (p *Promotion) Rooms() <-chan *Room { return p.rooms }

// Write moves one value. It does so also after another one could not be moved:
// what was created is sealed.
func (p *Promotion) Write(r *Room) {
	p.open--
	at, err := r.Place()
	if err == nil {
		err = p.s.fill(r.id, at, false, func(w *writer) error { return w.write(0, p.values[r.i]) })
	}
	switch {
	case err == nil, fault.CodeOf(err) == fault.AlreadyExists: // another task takes it, too
		p.moved[r.i] = true
	case p.err == nil:
		p.err = err
	}
}

// Promoted ends the promotion: it tells the table which values lie in the store now.
// The error says why one of the other values could not be moved.
func (s *Store) Promoted(p *Promotion) error {
	for i, o := range p.list {
		if p.moved[i] {
			s.table.Moved(o)
		}
	}
	if s.ended != nil {
		return s.ended
	}
	return p.err
}
