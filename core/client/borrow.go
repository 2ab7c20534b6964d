package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/planted"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// borrow returns the object of a reference that came from elsewhere and
// registers us with its owner; mu held.
func (c *Client) borrow(id ids.Object, addr string) *refs.Object {
	o, isNew := c.table.Borrow(id, addr)
	if !isNew {
		return o
	}
	c.unacked++
	c.links.To(addr).Batch(wire.TRefBorrow, raw(id))
	return o
}

// register tells an owner about references of its that we have begun to hold.
func (c *Client) register(list [][]byte, p *wire.Peer, err error) {
	acked := func(_ *wire.Message, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unacked -= len(list)
		if c.unacked == 0 {
			for _, w := range c.ackWaits {
				c.poller.Finish(w)
			}
			c.ackWaits = nil
			c.ownerLate = false
			c.takeDrops()
		}
	}
	if err != nil {
		c.mu.Lock()
		for _, raw := range list {
			if id, e := ids.ParseObject(raw); e == nil {
				if o := c.table.Find(id); o != nil && !o.State().Ready() {
					c.table.Fail(o, ownerDied(o))
				}
			}
		}
		c.mu.Unlock()
		acked(nil, err)
		return
	}
	if planted.Strikes(planted.SkippedCount) {
		acked(nil, nil)
		return
	}
	p.Go(wire.TRefBorrow, wire.ObjRefs{ObjectIDs: list}, acked)
}

// giveBack tells the owner that we hold the object no longer; mu held.
func (c *Client) giveBack(o *refs.Object) {
	l := c.links.Find(o.OwnerAddr())
	if l == nil || planted.Strikes(planted.LostReturn) {
		return // it is gone
	}
	l.Batch(wire.TRefReturn, raw(o.ID))
}

// ask requests a borrowed object's value from its owner; mu held.
func (c *Client) ask(o *refs.Object) { c.askOwner(o, false) }

// askOwner is ask; lost: the store has no copy, though the owner said so; mu held.
func (c *Client) askOwner(o *refs.Object, lost bool) {
	o.MarkAsked()
	id := o.ID
	c.question(o, wire.RefWait{ObjectID: id[:], Lost: lost}, func(v *wire.RefValue, err error) { c.answered(id, v, err) })
}

// awaitFeasible asks the owner of a borrowed object that no node can make to say when it is there after
// all: tasks and waits here may wait for it. One such question is under way at a time; mu held.
func (c *Client) awaitFeasible(o *refs.Object) {
	id := o.ID
	if c.patient[id] {
		return
	}
	if c.patient == nil {
		c.patient = map[ids.Object]bool{}
	}
	c.patient[id] = true
	c.question(o, wire.RefWait{ObjectID: id[:], Infeasible: true}, func(v *wire.RefValue, err error) {
		c.mu.Lock()
		delete(c.patient, id)
		c.mu.Unlock()
		c.answered(id, v, err)
	})
}

// question sends the owner of a borrowed object a question. answered is called without mu, with a value or an error; mu held.
func (c *Client) question(o *refs.Object, q wire.RefWait, answered func(*wire.RefValue, error)) {
	id := o.ID
	c.withPeer(o.OwnerAddr(), func(p *wire.Peer, err error) {
		if err != nil {
			answered(nil, fault.New(fault.OwnerDied, "object %s is lost: the process that owned it has ended (%v)", id, err))
			return
		}
		p.Go(wire.TRefWait, q, func(m *wire.Message, err error) {
			if err != nil {
				if fault.CodeOf(err) == fault.Internal {
					err = fault.New(fault.OwnerDied, "object %s is lost: the process that owned it has ended", id)
				}
				answered(nil, err)
				return
			}
			v := new(wire.RefValue)
			answered(v, m.Decode(v))
		})
	})
}

func (c *Client) answered(id ids.Object, v *wire.RefValue, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.table.Find(id)
	if o == nil || c.closed {
		return
	}
	switch {
	case err != nil:
		c.table.Fail(o, fault.From(err))
	case v.Fault != nil:
		f := &fault.Error{Code: fault.Code(v.Fault.Code), Message: v.Fault.Message, Task: v.Fault.Task}
		if f.Code == fault.TaskUnschedulable || f.Code == fault.ActorUnschedulable {
			c.table.Infeasible(o, f)
			if o.State() == refs.Infeasible {
				c.awaitFeasible(o)
			}
			return
		}
		c.table.Fail(o, f)
	case v.Inline != nil:
		c.table.Complete(o, refs.Inline, v.Inline, v.Size, v.IsError)
	default:
		c.table.Complete(o, refs.Stored, nil, v.Size, v.IsError)
	}
}

// Import makes a reference of an id that came from elsewhere, at a site of the program.
func (c *Client) Import(id ids.Object, addr string, site uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.why
	}
	if addr == c.info.Addr {
		addr = ""
	}
	o := c.borrow(id, addr)
	c.table.Ref(o)
	c.arrived(o, site)
	return nil
}

// Export returns the owner's socket of a reference.
func (c *Client) Export(id ids.Object) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.table.Find(id)
	if o == nil {
		return "", fault.New(fault.ObjectLost, "object %s is not known here", id)
	}
	o.MarkShared()
	return c.addrOf(o), nil
}

// received tells a worker that the references inside its reply are registered.
func (c *Client) received(id ids.Task, o *outConn) {
	addr := o.peerAddr
	c.whenRegistered(func() {
		c.withPeer(addr, func(p *wire.Peer, err error) {
			if err == nil {
				_ = p.Push(wire.TReceived, wire.Received{TaskID: id[:]})
			}
		})
	})
}

// whenRegistered runs f, under mu, when all references that came here are
// registered with their owners: at once if they are. It is not run when the
// session ends before that; mu held.
func (c *Client) whenRegistered(f func()) {
	if c.unacked == 0 {
		f()
		return
	}
	c.ackWaits = append(c.ackWaits, wait.Calling(func() {
		if !c.closed {
			f()
		}
	}))
}

// letGoBy tells a borrower of an object that its owner has not. That happens in two ways. What a
// task took whose lost result is computed again may be gone, for lineage keeps only what the task's
// caller owns. And the owner may not have heard yet of who asks when the last other holder was killed.
func letGoBy(id ids.Object) error {
	return fault.New(fault.LostBorrowed, "object %s is gone: the process that owned it has let go of it when nobody held a reference any more. "+
		"Either a task that took it runs again because its own result was lost, and its caller, which did not own the object, kept no reference to it: hold one for as long as you need the task's result. "+
		"Or the process that this reference came from was killed within the millisecond or so that the owner needs to hear of a new holder", id)
}

func refValue(o *refs.Object, node ids.Node) wire.RefValue {
	if o.IsError() || o.State() == refs.Infeasible {
		o.MarkSeen()
	}
	v := wire.RefValue{Size: o.Size(), IsError: o.IsError()}
	switch o.State() {
	case refs.Inline:
		v.Inline = o.Value()
	case refs.Stored:
		v.NodeID = node[:]
	default:
		v.Fault = &wire.FaultBody{Code: string(o.Fault().Code), Message: o.Fault().Message, Task: o.Fault().Task}
	}
	return v
}

// ownerDied is what the references of a process that has ended fail with.
func ownerDied(o *refs.Object) *fault.Error {
	return fault.New(fault.OwnerDied, "object %s is lost: the process that owned it has ended", o.ID)
}

// withPeer has f called with a control connection to a process, or with why
// there is none; mu held, but not in f.
func (c *Client) withPeer(addr string, f func(*wire.Peer, error)) { c.links.To(addr).Do(f) }
