package refs

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
)

// The oracle knows the references of all programs and what is inside each value, and nothing of the tables.

// check compares what must be alive with what is.
func (s *society) check() {
	seen := map[ids.Object]bool{}
	var todo []ids.Object
	within := map[ids.Object]ids.Object{} // inside which object it was found
	for _, m := range s.members {
		for id := range m.holds {
			todo = append(todo, id)
		}
		for _, x := range m.running {
			if !x.caller.dead && slices.Contains(x.on.waits, x) { // else the caller has sent it again, and holds the arguments for that run
				todo = append(todo, x.args...)
			}
		}
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		owner := s.ownerOf(id)
		if seen[id] || owner.dead {
			continue
		}
		seen[id] = true
		o := owner.table.Find(id)
		if o == nil || owner.freed[id] > 0 {
			s.fail("%s is gone and somebody holds it%s", short(id), s.path(id, within))
		}
		for _, in := range s.inside[id] {
			within[in] = id
			todo = append(todo, in)
		}
	}
}

// path says inside what an object is that is held, and who holds that.
func (s *society) path(id ids.Object, within map[ids.Object]ids.Object) (text string) {
	for outer, in := within[id]; in; outer, in = within[id] {
		text += ", in " + short(outer)
		id = outer
	}
	for _, m := range s.members {
		if m.holds[id] > 0 {
			text += ", which " + m.name + " has"
		}
		for _, x := range m.running {
			if slices.Contains(x.args, id) {
				text += fmt.Sprintf(", which %s has got for %s, awaited: %v", m.name, short(x.out), slices.Contains(x.on.waits, x))
			}
		}
	}
	return text
}

// leadsTo reports whether an object is another one, or has it inside. Values
// that contain each other would never go: references are counted.
func (s *society) leadsTo(id, other ids.Object) bool {
	if id == other {
		return true
	}
	for _, list := range [][]ids.Object{s.inside[id], s.sent[id]} {
		for _, in := range list {
			if s.leadsTo(in, other) {
				return true
			}
		}
	}
	return false
}

// rush has all messages arrive, in any order that the connections allow, and checks after each.
func (s *society) rush() {
	s.check()
	for s.deliver() {
		s.check()
	}
}

// ends lets go of everything, and has all messages arrive.
func (s *society) ends() {
	for _, m := range s.members {
		m.dropAll()
	}
	for range 1_000_000 {
		runs := false
		for _, m := range s.members {
			runs = runs || len(m.running) > 0
			m.answerAny()
			m.dropAll()
		}
		if !s.deliver() && !runs {
			break
		}
	}
	s.nothingLeft()
}

// nothingLeft checks that the tables of the living are empty.
func (s *society) nothingLeft() {
	for _, m := range s.members {
		if owned, borrowed := m.table.Len(); !m.dead && owned+borrowed > 0 {
			var left []string
			m.table.Each(func(o *Object) bool {
				left = append(left, fmt.Sprintf("%s: local %d, pins %d, borrowers %v", short(o.ID), o.local, o.pins, o.HeldBy()))
				return true
			})
			s.fail("%s keeps %v at the end", m.name, left)
		}
		for n, x := range m.asks {
			if !m.dead && !x.by.dead {
				s.fail("%s never answers question %d of %s", m.name, n, x.by.name)
			}
		}
		if t := m.table; !m.dead && (t.Unregistered() != 0 || t.Unconfirmed() || len(t.Retained()) > 0 || t.LateDrops() > 0 || t.AwaitingRegistered() > 0) {
			s.fail("%s: %d unregistered, unconfirmed %v, %d retained, %d late drops", m.name, t.Unregistered(), t.Unconfirmed(), len(t.Retained()), t.LateDrops())
		}
	}
}
