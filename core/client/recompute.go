package client

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wire"
)

// How a lost object comes back. Somebody found no copy in the store: this
// process, a borrower, a worker that was to take it. Its owner doubts it, with
// the other results of its task: they are Pending, so whoever wants them waits.
// The daemon is asked which of them it has; for those that it has not the task
// runs again, and writes these only. What that task takes is doubted first: so a
// chain is followed to where it is whole, one question for each of its links,
// and no worker waits meanwhile.

// doubt has an object of ours looked for, that is said to be lost or was let go of; mu held.
func (c *Client) doubt(o *refs.Object) {
	if o.State != refs.Stored && o.State != refs.Emptied {
		return
	}
	c.suspect(o)
	t := c.yieldingOf(o)
	if r := o.Recipe; r != nil && r.Why == refs.Whole {
		t = r.Task.(*task)
	}
	if t != nil {
		c.eachResult(t, func(x *refs.Object) {
			if x.State == refs.Stored {
				c.suspect(x)
			}
		})
	}
	c.askDoubted()
}

func (c *Client) suspect(o *refs.Object) {
	o.State, o.Producer = refs.Pending, nil
	c.lineage.doubted = append(c.lineage.doubted, o)
}

// doubtful reports whether the object had a copy in the store that is being looked for.
func doubtful(o *refs.Object) bool {
	return o.State == refs.Pending && o.Size > 0 && o.Producer == nil && o.Owned()
}

// askDoubted asks the daemon about what is doubted; mu held. The daemon has by
// then heard what was freed: a copy that is written later is not meant.
func (c *Client) askDoubted() {
	l := &c.lineage
	if l.asking || len(l.doubted) == 0 || c.closed {
		return
	}
	list := l.doubted
	l.doubted, l.asking = nil, true
	if len(list) > transport.MaxBatch {
		l.doubted = slices.Clone(list[transport.MaxBatch:])
		list = list[:transport.MaxBatch]
	}
	c.daemon.Go(wire.TObjCheck, wire.ObjRefs{ObjectIDs: rawOf(list)}, func(m *wire.Message, err error) {
		var lacks wire.ObjRefs
		if err == nil {
			err = m.Decode(&lacks)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		l.asking = false
		if c.closed {
			return
		}
		c.looked(list, lacks.ObjectIDs, err)
		c.askDoubted()
		c.carryOut()
		c.poller.Arm() // calls may have been sent
	})
}

// looked: the daemon said which of the objects it has not; mu held.
func (c *Client) looked(list []*refs.Object, lacks [][]byte, err error) {
	missing := make(map[ids.Object]bool, len(lacks))
	for _, raw := range lacks {
		if id, e := ids.ParseObject(raw); e == nil {
			missing[id] = true
		}
	}
	var lost []*refs.Object
	for _, o := range list {
		switch {
		case c.table.Find(o.ID) != o || !doubtful(o):
		case missing[o.ID]:
			lost = append(lost, o)
		case err != nil:
			c.failObject(o, fault.From(err))
		default:
			o.State = refs.Stored
			c.settled(o)
			c.table.Settle(o)
		}
	}
	for _, o := range lost {
		c.valueFreed(o.ID) // of the copy that was
	}
	for _, o := range lost {
		if doubtful(o) {
			c.recompute(o)
		}
	}
}

// recompute runs the task again that returned an object of ours, which is
// Pending because no copy of it is left. It does so for all lost results
// together, and once however many ask; mu held.
func (c *Client) recompute(o *refs.Object) {
	if o.Recipe == nil {
		c.amid(o)
	}
	r := o.Recipe
	switch {
	case o.Value != nil && !o.IsError: // it was small, and went to the store as an argument among many
		o.State = refs.Inline
		c.settled(o)
		return
	case !o.Renewable():
		c.failObject(o, unmade(o))
		return
	case r.Busy():
		return // the task runs; when it has ended this is looked at
	}
	old := r.Task.(*task)
	if a := old.actor; a != nil {
		if f := c.unreachable(a); f != nil {
			c.failObject(o, f)
			return
		}
	}
	c.table.Use(r)
	t := &task{
		tmpl: old.tmpl, first: old.first, returns: old.returns, tries: old.tries, fmt: old.fmt,
		args: old.args, argsRef: old.argsRef, actor: old.actor, recipe: r, aside: old.actor != nil,
	}
	r.Task = t
	if old.stream != nil {
		c.streamAgain(t, old)
	}
	t.triesAgain()
	c.takeAgain(t, old)
	c.eachResult(t, func(x *refs.Object) {
		if doubtful(x) {
			x.Producer = t
		}
	})
	c.count(t)
	if a := t.actor; a != nil {
		a.pending++
		if a.token != nil {
			c.table.Pin(a.token)
		}
	}
	c.awaitArguments(t)
}

// unreachable says why an actor takes no calls any more, nil if it does.
func (c *Client) unreachable(a *actor) *fault.Error {
	switch {
	case a.dead != nil:
		return a.dead
	case c.actors[a.id] != a:
		return actorLeft(a.name, a.id)
	}
	return nil
}

func actorLeft(name string, id ids.Actor) *fault.Error {
	return fault.New(fault.ActorDied, "actor %s (%s) has ended: its last handle is gone; what its methods returned cannot be computed again", name, id)
}

// takeAgain gives a task that runs again what the run before took, pinned.
func (c *Client) takeAgain(t, old *task) {
	if t.argsRef != nil {
		c.table.Pin(t.argsRef)
	}
	for _, o := range old.deps {
		if !o.Owned() {
			o = c.borrow(o.ID, o.OwnerAddr)
		}
		c.table.Pin(o)
		t.deps = append(t.deps, o)
	}
	for _, o := range old.nested {
		switch {
		case !o.Owned():
			o = c.borrow(o.ID, o.OwnerAddr)
		case c.table.Find(o.ID) != o:
			continue // an actor's token: the actor has ended
		}
		c.table.Pin(o)
		t.nested = append(t.nested, o)
	}
}

// awaitArguments starts a task, which is nowhere yet, when all that it takes is
// there; what of it lies in the store is looked for first; mu held.
func (c *Client) awaitArguments(t *task) {
	takes := t.deps
	if t.argsRef != nil {
		takes = append(slices.Clone(takes), t.argsRef)
	}
	for _, o := range takes {
		switch {
		case !o.Owned() && o.State == refs.Pending && !o.Asked:
			c.ask(o)
		case o.Owned():
			c.doubt(o)
		}
		c.waitFor(t, o)
	}
	c.begin(t)
}

// waitFor makes the task wait for an argument that is not ready; mu held.
func (c *Client) waitFor(t *task, o *refs.Object) {
	if !o.State.Ready() {
		t.waiting++
		x := watchOf(o)
		x.tasks = append(x.tasks, t)
	}
}

// begin queues a task that waits for nothing any more; mu held.
func (c *Client) begin(t *task) {
	switch {
	case t.waiting > 0:
		t.since = c.looks
		c.watchPending()
	case t.actor == nil:
		c.enqueue(t)
	default:
		// It goes into its actor's queue now, not before: what it takes may
		// be computed by calls of the same actor. And it goes to the front:
		// what is there may wait for what it computes.
		t.aside = false
		if a := t.actor; a.dead != nil {
			c.failCall(a, t)
		} else {
			a.queue.pushFront([]*task{t})
			c.pumpActor(a)
		}
	}
}
