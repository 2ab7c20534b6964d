package headlink

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/record"
)

// An exclusive actor is not placed while an earlier incarnation of it may begin calls. Its record names that incarnation (record.Actor.Fence).
// The earlier one begins no call any more
//
//   - when its node is dead with proof, or has been silent for so long that its own promise has ended (package alive), and the state has
//     its death, so that no later head counts on it;
//   - or when its node, which lives, says that the process is gone. It is asked, with every new process of the head.

// fences are the actors that wait, with the records that are to be placed. The server's lock guards them.
type fences map[ids.Actor]record.Actor

// exclusive reports whether actors are exclusive whose creators have not said it.
func (s *Server) exclusive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lives.Exclusive
}

// fence keeps an actor whose earlier incarnation may begin calls, and reports whether that is so; mu held.
func (s *Server) fence(a *record.Actor) bool {
	if s.lives.State == nil || !a.Fenced() || s.passed(a.Fence.Node) {
		return false
	}
	s.fenced[a.ID] = *a
	i := a.Fence
	switch n, known := s.lives.State.Node(i.Node); {
	case !known: // the state has forgotten it, because many nodes have died since
		incarnation := a.Incarnation
		time.AfterFunc(s.lives.Timing.Fence, func() {
			s.unfence(func(a *record.Actor) bool { return a.ID == i.Actor && a.Incarnation == incarnation })
		})
	case n.State == record.NodeDead:
		s.log.Info("an exclusive actor waits until its former node counts on itself no more", "actor", a.ID, "node", n.Number)
	default:
		if b, err := linkmsg.Encode("an order", &linkmsg.Stop{Instance: i}); err != nil {
			s.log.Error("a node is not asked whether an actor has ended", "actor", a.ID, "node", n.Number, "error", err)
		} else if err = s.give(n.Number, linkmsg.EndActor, b); err != nil {
			s.log.Error("a node is not asked whether an actor has ended", "actor", a.ID, "node", n.Number, "error", err)
		}
	}
	return true
}

// passed reports whether nothing on a node begins calls any more; mu held.
func (s *Server) passed(id ids.Node) bool {
	n, known := s.lives.State.Node(id)
	if !known || n.State != record.NodeDead {
		return false
	}
	return n.Gone || s.lives.machine != nil && s.lives.machine.MayReplace(n.Number)
}

// unfence places the actors that wait no more.
func (s *Server) unfence(which func(a *record.Actor) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(which)
}

// release places the actors that wait no more; mu held.
func (s *Server) release(which func(a *record.Actor) bool) {
	if s.closed {
		return
	}
	var free []record.Actor
	for id, a := range s.fenced {
		if which(&a) {
			free = append(free, a)
			delete(s.fenced, id)
		}
	}
	slices.SortFunc(free, func(a, b record.Actor) int { return int(a.Ordinal) - int(b.Ordinal) })
	for i := range free {
		s.place(&free[i], 0)
	}
}

// releasePassed places the actors whose earlier incarnations were on nodes that count on themselves no more; mu held.
func (s *Server) releasePassed() {
	s.release(func(a *record.Actor) bool { return s.passed(a.Fence.Node) })
}

// endedThere takes a node's word that the process of an incarnation is gone.
func (s *Server) endedThere(from uint32, i record.Instance) {
	s.unfence(func(a *record.Actor) bool {
		if a.ID != i.Actor || a.Fence.Incarnation != i.Incarnation {
			return false
		}
		n, known := s.lives.State.Node(a.Fence.Node)
		return known && n.Number == from
	})
}
