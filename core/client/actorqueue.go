package client

import "maps"

// The queue of an actor's calls. Calls leave in the order in which they were
// submitted, when their arguments are ready. Only calls of other concurrency groups
// may overtake a call that waits.

// submitCall queues a new call of an actor, or sends it if nothing is before it; mu held.
func (c *submitter) submitCall(a *actor, t *task) {
	c.count(t)
	t.actor = a
	a.pending++
	if a.token != nil {
		c.table.Pin(a.token)
	}
	if a.dead != nil {
		c.failCall(a, t)
		return
	}
	if a.bad != nil {
		c.infeasible(t, a.bad)
	}
	group := t.tmpl.Group
	a.grouped = a.grouped || group != ""
	switch {
	case a.heldBack(t):
		a.queue.push(t)
	case a.conn != nil && a.held != nil && !c.clogged(a): // all that is queued is of groups that are held
		if c.awaits(t) {
			a.held[group] = true
			a.queue.push(t)
		} else {
			c.sendCall(a, t)
		}
	default:
		a.queue.push(t)
		c.pumpActor(a)
	}
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
