package headlink

import (
	"context"
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/labels"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// The server has nodes set bundles of placement groups aside. The machine of package place chooses the nodes. When all of them have set their bundles aside, the
// head commits where the group is, and then the nodes open the bundles. So a later process of the head finds in the state which bundles are to stay. When a node
// connects to it, the node says what it has (BundlesKept), and is told what to open and what to drop.

// groupPatience is how long bundles may wait on a node for leases that are recalled for them.
const groupPatience = time.Second

// PlaceGroup finds nodes for the bundles of a group that have none.
func (s *Server) PlaceGroup(g record.Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := place.Group{ID: g.ID, Epoch: g.Epoch, Job: g.Job, Name: g.String(), Wait: g.Waits, Home: place.Node(g.Owner.Node()), At: make([]place.Node, len(g.Bundles))}
	q.Strategy, _ = packing.Parse(g.Strategy) // the node of its creator has checked it
	s.asksLabels(&g, &q)
	for i := range g.Bundles {
		q.Bundles = append(q.Bundles, resource.FromWire(g.Bundles[i].Resources))
		if at := g.NodeOf(i); at != (ids.Node{}) {
			n, _ := s.recordOf(at)
			q.At[i] = place.Node(n.Number)
		}
	}
	s.placing.decide(func(m *place.Machine) { m.PlaceGroup(q) })
}

// recordOf returns the record of a node; mu held. What Follow has brought so far may lack a node that is connected already, or all of them while this head begins to
// lead, and a group must not lose a node for that.
func (s *Server) recordOf(id ids.Node) (record.Node, bool) {
	if s.records != nil {
		return s.records(id)
	}
	n := s.known.nodes[id]
	if n == nil {
		return record.Node{}, false
	}
	return *n, true
}

// asksLabels says where bundles may be that ask for labels; mu held, as it is when the machine looks for nodes.
func (s *Server) asksLabels(g *record.Group, q *place.Group) {
	asked := make([]labels.Selector, len(g.Bundles))
	some := false
	for i := range g.Bundles {
		asked[i], _ = labels.Parse(g.Bundles[i].Labels) // the node of its creator has checked it
		q.Asks = append(q.Asks, asked[i].String())
		some = some || !asked[i].Empty()
	}
	if !some {
		q.Asks = nil
		return
	}
	q.Allows = func(bundle int, n place.Node) bool {
		row := s.nodes[uint32(n)]
		if row == nil || asked[bundle].Empty() {
			return row != nil
		}
		r, known := s.recordOf(row.id)
		return known && asked[bundle].Matches(labels.WithID(r.Labels, row.id))
	}
}

// RetryGroup finds other nodes for a group that could not be committed.
func (s *Server) RetryGroup(id ids.Group, epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placing.decide(func(m *place.Machine) { m.RetryGroup(id, epoch) })
}

// OpenGroup has the nodes of a group open its bundles.
func (s *Server) OpenGroup(g record.Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placing.decide(func(m *place.Machine) { m.GroupGone(g.ID, g.Epoch) })
	for n := range s.nodesOf(&g) {
		s.tellGroup(n, linkmsg.OpenBundles, linkmsg.GroupRef{ID: g.ID, Epoch: g.Epoch})
	}
}

// DropGroup has all nodes drop what they have of a group.
func (s *Server) DropGroup(g record.Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := s.nodesOf(&g)
	for _, n := range s.placing.machine.AskedFor(g.ID) {
		nodes[uint32(n)] = true
	}
	s.placing.decide(func(m *place.Machine) { m.GroupGone(g.ID, g.Epoch) })
	for n := range nodes {
		s.tellGroup(n, linkmsg.DropBundles, linkmsg.GroupRef{ID: g.ID})
	}
}

// nodesOf returns the living nodes that have bundles of a group; mu held.
func (s *Server) nodesOf(g *record.Group) map[uint32]bool {
	nodes := make(map[uint32]bool)
	for _, id := range g.Nodes {
		if n, known := s.recordOf(id); known && n.State != record.NodeDead {
			nodes[n.Number] = true
		}
	}
	return nodes
}

// tellGroup gives a node an order about a group; mu held.
func (s *Server) tellGroup(node uint32, kind linkmsg.Kind, body any) {
	b, err := linkmsg.Encode("an order about a placement group", body)
	if err == nil {
		err = s.give(node, kind, b)
	}
	if err != nil {
		s.log.Error("a node gets no order about a placement group", "order", kind, "node", node, "error", err)
	}
}

// decidedGroup carries out what the machine has decided about a group; mu held. It reports whether the action is one.
func (s *Server) decidedGroup(a place.Action) bool {
	switch a := a.(type) {
	case place.Prepare:
		b := linkmsg.Bundles{Group: linkmsg.GroupRef{ID: a.Group, Epoch: a.Epoch, Ticket: uint64(a.Ticket)}, Job: a.Job, Name: a.Name, Index: a.Index, ForMs: groupPatience.Milliseconds()}
		for _, need := range a.Needs {
			b.Needs = append(b.Needs, need.Wire())
		}
		s.tellGroup(uint32(a.Node), linkmsg.PrepareBundles, &b)
	case place.Unprepare:
		s.tellGroup(uint32(a.Node), linkmsg.UndoBundles, linkmsg.GroupRef{ID: a.Group, Ticket: uint64(a.Ticket)})
	case place.GroupPrepared:
		nodes := make([]ids.Node, len(a.Nodes))
		for i, n := range a.Nodes {
			if row := s.nodes[uint32(n)]; row != nil {
				nodes[i] = row.id
			}
		}
		s.head.GroupPrepared(a.ID, a.Epoch, nodes)
	case place.GroupInfeasible:
		s.head.GroupInfeasible(a.ID, cut(a.Message))
	case place.GroupFeasible:
		s.head.GroupInfeasible(a.ID, "")
	default:
		return false
	}
	return true
}

// tellPrepared takes a node's report that it has set bundles aside, or has not.
func (s *Server) tellPrepared(from uint32, t *linkmsg.Told) error {
	var p linkmsg.Prepared
	if err := linkmsg.Decode("a report on bundles", t.Body, maxReport, &p); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placing.decide(func(m *place.Machine) { m.Prepared(place.Node(from), p.Group.ID, place.Ticket(p.Group.Ticket), p.OK) })
	return nil
}

// tellKept takes a node's report on what it has of groups, and has it open and drop what it should. Whatever is prepared there by an order of this process is
// not touched: the report names orders of one before.
func (s *Server) tellKept(from uint32, t *linkmsg.Told) error {
	var k linkmsg.KeptBundles
	if err := linkmsg.Decode("a report on bundles", t.Body, maxReport, &k); err != nil {
		return err
	}
	id, _ := s.idOf(from)
	for _, b := range k.List {
		g, err := s.head.Group(s.ctx, b.Group.ID)
		if err != nil && !errors.Is(err, record.ErrNotFound) {
			return err
		}
		s.orderKept(from, id, &b, &g, err == nil)
	}
	return nil
}

func (s *Server) orderKept(from uint32, id ids.Node, b *linkmsg.KeptBundle, g *record.Group, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !known || !g.Live():
		s.tellGroup(from, linkmsg.DropBundles, linkmsg.GroupRef{ID: b.Group.ID})
	case b.Open:
	case g.State == record.GroupCreated && g.NodeOf(b.Index) == id && b.Group.Epoch == g.Epoch: // else they are of an attempt that has failed
		s.tellGroup(from, linkmsg.OpenBundles, linkmsg.GroupRef{ID: b.Group.ID, Epoch: b.Group.Epoch})
	default:
		s.tellGroup(from, linkmsg.UndoBundles, linkmsg.GroupRef{ID: b.Group.ID, Ticket: b.Group.Ticket})
	}
}

// serveGroups carries out a request about placement groups. It reports whether it is one.
func (c *session) serveGroups(ctx context.Context, q *linkmsg.Ask) (v any, ours bool, err error) {
	h := c.s.head
	switch q.Op {
	case linkmsg.OpGroup:
		v, err = serveAs(q, func(r *linkmsg.GroupRef) (any, error) { return pointer(h.Group(ctx, r.ID)) })
	case linkmsg.OpGroupNamed:
		v, err = serveAs(q, func(k *linkmsg.Key) (any, error) { return pointer(h.GroupNamed(ctx, k.Namespace, k.Key)) })
	case linkmsg.OpGroups:
		var list []record.Group
		list, err = h.Groups(ctx)
		v = &linkmsg.Groups{List: list}
	case linkmsg.OpCreateGroup:
		v, err = serveAs(q, func(g *record.Group) (any, error) { return nil, c.createGroup(ctx, g, q.Again) })
	case linkmsg.OpRemoveGroup:
		v, err = serveAs(q, func(r *linkmsg.GroupRef) (any, error) { return nil, h.RemoveGroup(ctx, r.ID) })
	default:
		return nil, false, nil
	}
	return v, true, err
}

// createGroup makes a group. When the request was sent before and the group is there, the request was carried out.
func (c *session) createGroup(ctx context.Context, g *record.Group, again bool) error {
	err := c.s.head.CreateGroup(ctx, *g)
	if !again || !errors.Is(err, record.ErrExists) {
		return err
	}
	if old, unknown := c.s.head.Group(ctx, g.ID); unknown != nil || old.Owner != g.Owner || old.Job != g.Job {
		return err
	}
	return nil
}

// awaitGroup serves a request that is answered when a group has another state.
func (c *session) awaitGroup(m *wire.Message, q *linkmsg.Ask) {
	var r linkmsg.AwaitGroup
	if err := linkmsg.Decode("a question for a placement group", q.Body, linkmsg.MaxHello, &r); err != nil {
		c.answer(m, nil, err)
		return
	}
	c.awaitAnswer(m, q, func() func() bool {
		patience := min(max(0, time.Duration(r.PatienceMs)*time.Millisecond), maxPatience)
		return c.s.head.AwaitGroup(r.ID, r.Seen, patience, func(g record.Group, infeasible string, err error) {
			c.finished(q.N)
			c.answer(m, &linkmsg.GroupFound{Group: g, Infeasible: infeasible}, err)
		})
	})
}
