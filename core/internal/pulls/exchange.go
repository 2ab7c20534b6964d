package pulls

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/dir"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// question is a node's question where an object is, which the directory will answer.
type question struct {
	from uint32
	done func(linkmsg.ObjectAnswer)
}

// Handle serves a message about objects from another node, on the goroutine of its control connection.
func (p *Pulls) Handle(from uint32, m *wire.Message) {
	err := p.serve(from, m)
	if err != nil {
		p.o.Refused(fault.New(fault.CodeOf(err), "message about objects from node %d: %v", from, err))
		_ = m.Fail(err)
	}
}

func (p *Pulls) serve(from uint32, m *wire.Message) (err error) {
	switch m.Type {
	case linkmsg.TObjectNews:
		var n linkmsg.ObjectNews
		if err := linkmsg.DecodeObjects(m, &n); err != nil {
			return err
		}
		p.locked(func() {
			if !p.late(from, m) {
				err = p.heard(from, &n)
			}
		})
	case linkmsg.TObjectAsk:
		var q linkmsg.ObjectAsk
		if err := linkmsg.DecodeObjects(m, &q); err != nil {
			return err
		}
		p.locked(func() {
			if !p.late(from, m) {
				err = p.asked(from, &q, func(a linkmsg.ObjectAnswer) { reply(m, &a) })
			}
		})
	default:
		err = fault.New(fault.BadRequest, "%s is not about objects", m.Type)
	}
	return err
}

// heard takes in what a node tells, which may be this one.
func (p *Pulls) heard(from uint32, n *linkmsg.ObjectNews) error {
	owner := p.o.Node // of the node whose directory has the objects
	if n.What == linkmsg.ObjectFree || n.What == linkmsg.ObjectPromote {
		owner = from
	}
	defer p.flush()
	for _, v := range n.List {
		if v.ID.Owner().Node() != owner {
			return fault.New(fault.BadRequest, "%q of object %s: its owner is on node %d", n.What, v.ID, v.ID.Owner().Node())
		}
		switch version := dir.Version(v.Version); n.What {
		case linkmsg.ObjectMade:
			if p.o.Lives(v.ID.Owner()) {
				p.dir.Made(v.ID, version, v.Size, dir.Node(from))
			} else {
				p.tell(from, linkmsg.ObjectFree, linkmsg.ObjectVersion{ID: v.ID})
			}
		case linkmsg.ObjectHas:
			p.dir.Has(v.ID, version, dir.Node(from))
		case linkmsg.ObjectGone:
			p.dir.Gone(v.ID, version, dir.Node(from))
		case linkmsg.ObjectStop:
			p.dir.Stop(v.ID, dir.Node(from))
		case linkmsg.ObjectFree:
			p.free(v.ID, v.Version)
		case linkmsg.ObjectPromote:
			p.promote(v.ID, v.Version)
		default:
			return fault.New(fault.BadRequest, "object %s: %q means nothing", v.ID, n.What)
		}
	}
	return nil
}

// asked answers a question of another node.
func (p *Pulls) asked(from uint32, q *linkmsg.ObjectAsk, done func(linkmsg.ObjectAnswer)) error {
	for _, v := range q.List {
		if !p.here(v.ID) {
			return fault.New(fault.BadRequest, "%q of object %s: its owner is on node %d", q.What, v.ID, v.ID.Owner().Node())
		}
	}
	a := linkmsg.ObjectAnswer{}
	switch q.What {
	case linkmsg.ObjectWhere:
		p.where(from, q, done)
		return nil
	case linkmsg.ObjectDrop:
		for _, v := range q.List {
			a.Yes = append(a.Yes, p.dir.Drop(v.ID, dir.Version(v.Version), dir.Node(from)))
		}
	case linkmsg.ObjectThere:
		for _, v := range q.List {
			a.Yes = append(a.Yes, p.dir.Knows(v.ID) || p.o.Store.Has(v.ID))
		}
	case linkmsg.ObjectHeld:
		for _, v := range q.List {
			a.Held = append(a.Held, p.holders(v.ID))
		}
	default:
		return fault.New(fault.BadRequest, "the question %q about objects means nothing", q.What)
	}
	done(a)
	p.flush()
	return nil
}

// where has the directory answer where an object is.
func (p *Pulls) where(from uint32, q *linkmsg.ObjectAsk, done func(linkmsg.ObjectAnswer)) {
	v := q.List[0]
	for _, f := range q.Failed {
		p.dir.Failed(v.ID, dir.Version(v.Version), dir.Node(from), dir.Node(f.Node), f.Absent)
	}
	p.enter(v.ID)
	p.lastAsk++
	p.asks[p.lastAsk] = question{from, done}
	p.dir.Where(v.ID, dir.Node(from), p.lastAsk)
	p.flush()
}

// enter makes an entry of the directory for an object that only this node knows.
func (p *Pulls) enter(id ids.Object) {
	if p.dir.Knows(id) || p.pulls[id] != nil || !p.o.Store.Has(id) {
		return
	}
	at, _ := p.o.Store.Find(id)
	h := &held{version: p.newVersion(), making: p.o.Store.Writer(id) != nil}
	p.held[id] = h
	p.dir.Made(id, dir.Version(h.version), at.Size, dir.Node(p.o.Node))
	if !h.making {
		p.dir.Has(id, dir.Version(h.version), dir.Node(p.o.Node))
	}
}

// flush carries out what the directory wants to be told. What follows from that is carried out, too.
func (p *Pulls) flush() {
	if p.telling {
		return
	}
	p.telling = true
	defer func() { p.telling = false }()
	for list := slices.Clone(p.dir.Actions()); len(list) > 0; list = slices.Clone(p.dir.Actions()) {
		for _, a := range list {
			p.carryOut(a)
		}
	}
}

func (p *Pulls) carryOut(a dir.Action) {
	switch a := a.(type) {
	case dir.At:
		p.answer(a.Ask, linkmsg.ObjectAnswer{Holders: numbers(a.Holders), Begun: a.Begun, Version: uint64(a.Version), Size: a.Size})
	case dir.Lost:
		p.answer(a.Ask, linkmsg.ObjectAnswer{Freed: a.Freed})
	case dir.Free:
		if uint32(a.To) != p.o.Node && planted.Strikes(planted.KeptCopy) {
			return
		}
		p.tell(uint32(a.To), linkmsg.ObjectFree, linkmsg.ObjectVersion{ID: a.ID, Version: uint64(a.Version)})
	case dir.Promote:
		p.tell(uint32(a.To), linkmsg.ObjectPromote, linkmsg.ObjectVersion{ID: a.ID, Version: uint64(a.Version)})
	}
}

func numbers(list []dir.Node) []uint32 {
	out := make([]uint32, len(list))
	for i, n := range list {
		out[i] = uint32(n)
	}
	return out
}

func (p *Pulls) answer(ask uint64, a linkmsg.ObjectAnswer) {
	if q, ok := p.asks[ask]; ok {
		delete(p.asks, ask)
		q.done(a)
	}
}
