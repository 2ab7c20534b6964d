package headlink

import (
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/record"
)

// The server has nodes start actors. The machine of package place chooses the node; the choice is committed before the
// node hears of it, so that another process of the head tells the same node.

// PlaceActor has a node start the record's incarnation: now, or when there is one that can. At is the number of the node that the record
// names, 0 if it names none. An exclusive actor may have to wait for the end of an earlier incarnation, see fence.go.
func (s *Server) PlaceActor(a *record.Actor, at uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fence(a) {
		s.place(a, at)
	}
}

// place has a node start an incarnation; mu held.
func (s *Server) place(a *record.Actor, at uint32) {
	q := actorOf(a)
	q.At = place.Node(at)
	s.placing.decide(func(m *place.Machine) { m.PlaceActor(q) })
}

// StopActor ends an incarnation: at once, or after the calls that have arrived. Number is that of its node, 0 if it has none.
func (s *Server) StopActor(number uint32, i record.Instance, drain bool) error {
	if !drain {
		s.actorGone(i)
	}
	if number == 0 {
		return nil
	}
	return s.order(number, linkmsg.StopActor, &linkmsg.Stop{Instance: i, Drain: drain})
}

// actorOf returns what an actor's incarnation needs to be placed.
func actorOf(a *record.Actor) place.Actor {
	q := place.Actor{
		ID: place.ActorID{Actor: a.ID, Incarnation: a.Incarnation}, Home: place.Node(a.Owner.Node()), Name: a.ClassName,
		After: time.Duration(a.AfterMs) * time.Millisecond, Wait: a.Waits,
	}
	q.Strategy, _ = strategy.Parse(a.Strategy) // the node of its creator has checked it
	need := func(place, run record.Resources) {
		set := resource.FromWire(place)
		for name, n := range resource.FromWire(run) {
			set[name] = max(set[name], n)
		}
		q.Needs = append(q.Needs, set)
	}
	need(a.Resources, a.RunResources)
	for _, o := range a.Fallback {
		need(o.Resources, o.RunResources)
	}
	return q
}

// decidedActor carries out what the machine has decided about an actor; mu held.
func (s *Server) decidedActor(a place.Action) {
	switch a := a.(type) {
	case place.StartActor:
		s.ends.Go(func() { s.start(a) })
	case place.WithdrawActor:
		w := linkmsg.Withdraw{Instance: instanceOf(a.ID), Ticket: uint64(a.Ticket)}
		b, err := linkmsg.Encode("an order", &w)
		if err == nil {
			err = s.give(uint32(a.Node), linkmsg.WithdrawActor, b)
		}
		if err != nil {
			s.log.Error("an actor is not withdrawn from a node", "actor", a.ID.Actor, "node", a.Node, "error", err)
		}
	case place.ActorInfeasible:
		s.head.ActorInfeasible(instanceOf(a.ID), cut(a.Message))
	case place.ActorFeasible:
		s.head.ActorFeasible(instanceOf(a.ID))
	}
}

func instanceOf(id place.ActorID) record.Instance {
	return record.Instance{Actor: id.Actor, Incarnation: id.Incarnation}
}

// start commits which node starts an actor, and then tells the node.
func (s *Server) start(o place.StartActor) {
	select {
	case <-s.ready:
	case <-s.ctx.Done():
		return
	}
	a, err := s.head.Actor(s.ctx, o.ID.Actor)
	for ; s.mayTryAgain(err); a, err = s.head.Actor(s.ctx, o.ID.Actor) {
		s.log.Error("the record of an actor that is to start cannot be read", "actor", o.ID.Actor, "node", o.Node, "error", err)
		s.pause()
	}
	if errors.Is(err, record.ErrBlobLost) {
		s.actorCannotStart(instanceOf(o.ID), err)
		return
	}
	if err != nil || !a.Live() || a.Incarnation != o.ID.Incarnation {
		s.actorGone(instanceOf(o.ID))
		return
	}
	if id, known := s.idOf(uint32(o.Node)); known && id != a.Node {
		i := instanceOf(o.ID)
		i.Node = id
		for err = s.head.CommitPlaced(s.ctx, i); s.mayTryAgain(err); err = s.head.CommitPlaced(s.ctx, i) {
			s.log.Error("it is not committed on which node an actor starts", "actor", o.ID.Actor, "node", o.Node, "error", err)
			s.pause()
		}
		if err != nil {
			s.actorGone(i)
			if errors.Is(err, record.ErrNodeDead) {
				s.PlaceActor(&a, 0)
			}
			return
		}
		a.Node = id
	}
	if err := s.tellToStart(o, &a); err != nil {
		s.actorCannotStart(instanceOf(o.ID), err)
	}
}

// actorCannotStart ends an incarnation that no node can start.
func (s *Server) actorCannotStart(i record.Instance, why error) {
	s.actorGone(i)
	s.head.ActorStartFailed(i, record.Cause{Reason: record.StartFailed, Message: why.Error()})
}

// mayTryAgain reports whether a change or a read that has failed may succeed later.
func (s *Server) mayTryAgain(err error) bool {
	for _, final := range []error{record.ErrDead, record.ErrStale, record.ErrNotFound, record.ErrNodeDead, record.ErrClosed, record.ErrInvalid, record.ErrBlobLost} {
		if errors.Is(err, final) {
			return false
		}
	}
	return err != nil && s.ctx.Err() == nil
}

// tellToStart gives the order to start an actor, unless it is not wanted any more.
func (s *Server) tellToStart(o place.StartActor, a *record.Actor) error {
	b, err := linkmsg.Encode("the order to start "+a.String(), &linkmsg.Start{Actor: *a, Ticket: uint64(o.Ticket)})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if node, ticket := s.placing.machine.OrderedTo(o.ID); s.closed || node != o.Node || ticket != o.Ticket {
		return nil
	}
	return s.give(uint32(o.Node), linkmsg.StartActor, b)
}

// idOf returns the long name of a node.
func (s *Server) idOf(number uint32) (id ids.Node, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[number]; n != nil && n.id != (ids.Node{}) {
		return n.id, true
	}
	for id, r := range s.known.nodes {
		if r.Number == number {
			return id, true
		}
	}
	return id, false
}

// actorGone notes that nobody has to be told to start an incarnation any more.
func (s *Server) actorGone(i record.Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fenced[i.Actor].Incarnation == i.Incarnation {
		delete(s.fenced, i.Actor)
	}
	s.placing.decide(func(m *place.Machine) { m.ActorGone(place.ActorID{Actor: i.Actor, Incarnation: i.Incarnation}) })
}

// actorRefused takes a node's word that it does not start an actor as it was told to.
func (s *Server) actorRefused(from uint32, t *linkmsg.InstanceTold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := place.ActorID{Actor: t.Instance.Actor, Incarnation: t.Instance.Incarnation}
	s.placing.decide(func(m *place.Machine) { m.ActorRefused(place.Node(from), id, place.Ticket(t.Ticket)) })
}
