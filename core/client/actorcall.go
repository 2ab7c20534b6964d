package client

import (
	"maps"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
)

// actorDead fails everything that is queued for it.
func (c *submitter) actorDead(a *actor, f *fault.Error, env []byte) {
	if a.dead == nil {
		a.dead, a.deadEnv = f, env
		c.keepRaised(a)
	}
	c.failSent(a)
	for a.queue.len() > 0 {
		c.failCall(a, a.queue.pop())
	}
	c.runsNoMore(a)
}

// failSent fails the calls of a dead actor whose socket has broken. Its death and
// the end of its socket are heard of in any order; mu held.
func (c *submitter) failSent(a *actor) {
	sent := a.sent
	a.sent = nil
	for _, t := range sent {
		if t.canceled {
			c.failTask(t, cancelFault(t))
		} else {
			c.failCall(a, t)
		}
	}
}

func (c *submitter) failCall(a *actor, t *task) {
	if a.deadEnv != nil {
		c.freeWritten(t)
		t.failed = true
		c.eachReturn(t, func(_ int, o *refs.Object) {
			if a.raised != nil && !o.State().Ready() {
				c.table.Contain(o, a.raised)
			}
			c.table.Complete(o, refs.Inline, a.deadEnv, uint64(len(a.deadEnv)), true)
		})
		c.endTask(t)
		return
	}
	c.failTask(t, a.dead)
}

// CallActor submits a method call.
func (c *Client) CallActor(id ids.Actor, call *Call) (first ids.Object, returns int, err error) {
	total, _ := call.Args.layout()
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.actors[id]
	if a == nil {
		return first, 0, fault.New(fault.NotFound, "actor %s: this process holds no handle of it", id)
	}
	if a.limit > 0 && a.pending >= a.limit {
		return first, 0, fault.New(fault.PendingCallsLimit, "actor %s (%s) has %d calls pending, max_pending_calls=%d", a.name, id, a.pending, a.limit)
	}
	tm, err := c.templateOf(call.Template)
	if err != nil {
		return first, 0, err
	}
	t, err := c.newTask(tm, call, total)
	if err != nil {
		return first, 0, err
	}
	c.count(t)
	t.actor = a
	a.pending++
	if a.token != nil {
		c.table.Pin(a.token)
	}
	first = ids.NewObject(t.first, c.self, c.info.Job, 1)
	switch {
	case a.dead != nil:
		c.failCall(a, t)
	default:
		if a.bad != nil {
			c.infeasible(t, a.bad)
		}
		a.grouped = a.grouped || tm.Group != ""
		switch {
		case a.heldBack(t):
			a.queue.push(t)
		case a.conn != nil && a.held != nil && !c.clogged(a): // all that is queued is of groups that are held
			if c.awaits(t) {
				a.held[tm.Group] = true
				a.queue.push(t)
			} else {
				c.sendCall(a, t)
			}
		default:
			a.queue.push(t)
			c.pumpActor(a)
		}
	}
	return first, int(t.returns), nil
}

// pumpActor sends the calls whose arguments are ready, in order; mu held.
func (c *submitter) pumpActor(a *actor) {
	if a.conn == nil {
		if a.queue.len() > 0 {
			c.resolve(a)
			a.waits(c.looks)
			c.watchPending()
		}
		return
	}
	a.held = nil
	for a.queue.len() > 0 {
		if c.clogged(a) {
			return
		}
		t := a.queue.first()
		if a.conn.filled[t.tmpl.Group] || c.awaits(t) {
			if a.grouped {
				c.pumpGroups(a)
			}
			return
		}
		a.queue.pop()
		c.sendCall(a, t)
	}
}

// awaits reports whether a call of an actor has to wait for its arguments; mu held.
func (c *submitter) awaits(t *task) bool {
	if t.waiting == 0 && t.badDep() == nil && t.tooMuch() {
		t.waiting++ // until its arguments are in the arena
		t.since = c.looks
		c.promote(t)
	}
	return t.waiting > 0
}

// sendCall sends a call that was taken out of the queue, or ends it. A cancelled
// call is in no queue any more; mu held.
func (c *submitter) sendCall(a *actor, t *task) {
	if d := t.badDep(); d != nil {
		c.failLike(t, d)
		return
	}
	t.on = a.conn
	a.conn.send(t)
}

// pumpGroups sends what need not wait for the first call, whose arguments are late or whose concurrency
// group takes no more for now: that holds the calls of its own group only; mu held.
func (c *submitter) pumpGroups(a *actor) {
	held := map[string]bool{}
	maps.Copy(held, a.conn.filled)
	var free []*task
	a.queue.each(func(t *task) {
		g := t.tmpl.Group
		if !held[g] && c.awaits(t) {
			held[g] = true
		}
		if !held[g] {
			free = append(free, t)
		}
	})
	a.held = held
	for _, t := range free {
		if a.conn == nil || c.clogged(a) { // it broke meanwhile, or takes no more
			a.held = nil
			return
		}
		if a.queue.remove(t) {
			c.sendCall(a, t)
		}
	}
}

// heldBack reports whether a call that is about to be queued has to wait, like others
// of its group, for one whose arguments are late; mu held.
func (a *actor) heldBack(t *task) bool { return a.conn != nil && a.held[t.tmpl.Group] }

// callEnded is told once for each call that has its answer.
func (c *submitter) callEnded(a *actor) {
	a.pending--
	if a.token != nil {
		c.table.Unpin(a.token)
		c.table.CarryOut()
	}
}
