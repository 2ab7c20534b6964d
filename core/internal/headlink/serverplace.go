package headlink

import (
	"cmp"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// The server passes to the machine of package place what nodes have free and what they want, and sends its offers.

// decided sends what the machine has decided; mu held.
func (s *Server) decided(a place.Action) {
	switch a := a.(type) {
	case place.Offer:
		s.say(a.To.Node, linkmsg.TOffer, &linkmsg.Offer{Client: a.To.Client, Class: a.To.Class, Node: uint32(a.Node), N: a.N, Choice: a.Choice, Ticket: uint64(a.Ticket), Recall: a.Recall})
	case place.Infeasible:
		s.say(a.To.Node, linkmsg.TInfeasible, &linkmsg.Infeasible{Client: a.To.Client, Class: a.To.Class, Message: cut(a.Message), Busy: a.Busy})
	default:
		if !s.decidedGroup(a) {
			s.decidedActor(a)
		}
	}
}

// tick runs at the time at which the machine wants to be told of it.
func (s *Server) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placing.decide(func(*place.Machine) {})
}

// say sends a message to a node that is connected; mu held.
func (s *Server) say(to place.Node, t wire.Type, body any) {
	n := s.nodes[uint32(to)]
	if n == nil || n.session == nil {
		return
	}
	b, err := linkmsg.Encode("a decision about leases", body)
	if err != nil {
		s.log.Error("a node does not hear a decision about leases", "node", to, "error", err)
		return
	}
	_ = n.session.peer.Push(t, b)
}

// Sizes are how many entries the tables have that serve placing, by name.
func (s *Server) Sizes() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.placing.machine.Sizes()
}

// lossPatience is how long nothing is called infeasible after a node was lost: another one may take its place.
const lossPatience = 10 * time.Second

// awaitReplacement holds back for a while what await says; mu held.
func (s *Server) awaitReplacement() {
	if s.closed {
		return
	}
	s.lostNode = true
	if s.lossTimer == nil {
		s.lossTimer = time.AfterFunc(lossPatience, s.replacementLate)
	}
	s.lossTimer.Reset(lossPatience)
	s.await()
}

func (s *Server) replacementLate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.lostNode = false
		s.await()
	}
}

// await has the machine call nothing infeasible while the cluster's state has a living node that has never said what
// it has; mu held.
func (s *Server) await() {
	heard := make(map[ids.Node]bool)
	for _, n := range s.nodes {
		heard[n.id] = heard[n.id] || n.heard
	}
	wait := !s.followed || s.lostNode
	for id, r := range s.known.nodes {
		wait = wait || r.State != record.NodeDead && !heard[id]
	}
	if wait != s.awaits {
		s.awaits = wait
		s.placing.decide(func(m *place.Machine) { m.Await(wait) })
	}
}

// placing takes one of the messages about leases that have no room.
func (c *session) placing(m *wire.Message) (err error) {
	var do func(p *place.Machine, from place.Node) error
	heard := false
	switch m.Type {
	case linkmsg.TStock:
		var t linkmsg.Stock
		err = linkmsg.Decode("what a node has free", m.Body, linkmsg.MaxStock, &t)
		heard = true
		do = func(p *place.Machine, from place.Node) error { return p.Report(from, t.Stock()) }
	case linkmsg.TWant:
		var w linkmsg.Want
		if err = linkmsg.Decode("a want", m.Body, linkmsg.MaxPlace, &w); err == nil {
			err = w.Check()
		}
		named, wrong := strategy.Parse(w.Strategy)
		err = cmp.Or(err, wrong)
		do = func(p *place.Machine, from place.Node) error {
			if err := p.Want(wantOf(from, &w, named)); err != nil {
				c.s.log.Warn("a want of a node is not served", "node", from, "error", err)
			}
			return nil
		}
	default:
		var t linkmsg.Settled
		err = linkmsg.Decode("the end of an offer", m.Body, linkmsg.MaxStock, &t)
		do = func(p *place.Machine, from place.Node) error {
			var stock *resource.Stock
			if t.Stock != nil {
				x := t.Stock.Stock()
				stock = &x
			}
			return p.Settled(from, place.Ticket(t.Ticket), t.Took, stock)
		}
	}
	if err != nil {
		return err
	}
	return c.decide(heard, do)
}

// decide has the machine take what the node has said, if this is its present connection.
func (c *session) decide(heard bool, do func(p *place.Machine, from place.Node) error) (err error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	n := c.node
	if n == nil {
		return nil
	}
	s.placing.decide(func(p *place.Machine) { err = do(p, place.Node(c.number)) })
	if err == nil && heard && !n.heard {
		n.heard = true
		s.await()
	}
	if err != nil {
		return fmt.Errorf("about leases: %w", err)
	}
	return nil
}

func wantOf(from place.Node, w *linkmsg.Want, s strategy.Strategy) (place.Key, place.Want) {
	q := place.Want{Job: w.Job, Name: w.Name, N: w.N, Due: w.Due, Offered: w.Offered, Strategy: s, Home: w.Home}
	for _, n := range w.Near {
		q.Near = append(q.Near, place.Node(n))
	}
	for _, need := range w.Needs {
		q.Needs = append(q.Needs, resource.FromWire(need))
	}
	return place.Key{Node: from, Client: w.Client, Class: w.Class}, q
}
