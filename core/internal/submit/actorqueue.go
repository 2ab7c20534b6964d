package submit

import "maps"

// The queue of an actor's calls. Calls leave in the order in which they were
// submitted, when their arguments are ready. Calls of other concurrency groups
// may overtake a call that waits, and so may all calls if the actor's calls are unordered.

// SubmitCall queues a new call of an actor, or sends it if nothing is before it; mu held.
func (c *Submitter) SubmitCall(a *Actor, t *Task) {
	c.Count(t)
	t.actor = a
	a.Pending++
	a.HoldCall()
	if a.Dead() != nil {
		c.failCall(a, t)
		return
	}
	if bad := a.Infeasible(); bad != nil {
		c.infeasible(t, bad)
	}
	group := t.Template.Group
	a.grouped = a.grouped || group != ""
	switch {
	case a.heldBack(t):
		a.Queue.push(t)
	case a.Channel != nil && a.held != nil && !c.clogged(a): // all that is queued is of groups that are held
		if c.awaits(t) {
			if !t.overtakable() {
				a.held[group] = true
			}
			a.Queue.push(t)
		} else {
			c.sendCall(a, t)
		}
	default:
		a.Queue.push(t)
		c.pumpActor(a)
	}
}

// pumpActor sends the calls whose arguments are ready, in order; mu held.
func (c *Submitter) pumpActor(a *Actor) {
	if a.Channel == nil {
		if a.Queue.Len() > 0 {
			a.Resolve()
			a.waits(c.Looks)
			c.watchPending()
		}
		return
	}
	a.held = nil
	for a.Queue.Len() > 0 {
		if c.clogged(a) {
			return
		}
		t := a.Queue.First()
		if a.Channel.filled[t.Template.Group] || c.awaits(t) {
			if a.grouped || t.Template.Unordered {
				c.pumpGroups(a)
			}
			return
		}
		a.Queue.Pop()
		c.sendCall(a, t)
	}
}

// awaits reports whether a call of an actor has to wait for its arguments; mu held.
func (c *Submitter) awaits(t *Task) bool {
	if t.Waiting == 0 && t.Bad() == nil && t.TooMuch() {
		t.Waiting++ // until its arguments are in the arena
		t.moving = true
		t.Since = c.Looks
		c.promote(t)
	}
	return t.Waiting > 0
}

// overtakable reports whether later calls need not wait for this call, which waits for arguments: its actor's calls
// are unordered. While only its own arguments move to the arena, which is soon over, it keeps its place.
func (t *Task) overtakable() bool { return t.Template.Unordered && !t.moving }

// callReady: a call of an actor waits for no other task any more; mu held.
func (c *Submitter) callReady(t *Task) {
	a := t.actor
	if !t.Template.Unordered || a.Channel == nil {
		c.pumpActor(a)
		return
	}
	// The queue is not searched: many calls may wait in it.
	if a.Channel.filled[t.Template.Group] || a.heldBack(t) || c.clogged(a) || c.awaits(t) {
		return
	}
	if a.Queue.Remove(t) {
		c.sendCall(a, t)
	}
}

// sendCall sends a call that was taken out of the queue, or ends it. A cancelled
// call is in no queue any more; mu held.
func (c *Submitter) sendCall(a *Actor, t *Task) {
	if d := t.Bad(); d != nil {
		c.failLike(t, d)
		return
	}
	t.on = a.Channel
	a.Channel.send(t)
}

// pumpGroups sends what need not wait for the first call, whose arguments are late or whose concurrency
// group takes no more for now: that holds the calls of its own group only, or none if they are unordered; mu held.
func (c *Submitter) pumpGroups(a *Actor) {
	held := map[string]bool{}
	maps.Copy(held, a.Channel.filled)
	var free []*Task
	a.Queue.Each(func(t *Task) {
		g := t.Template.Group
		switch {
		case held[g]:
		case !c.awaits(t):
			free = append(free, t)
		case !t.overtakable():
			held[g] = true
		}
	})
	a.held = held
	for _, t := range free {
		if a.Channel == nil || c.clogged(a) { // it broke meanwhile, or takes no more
			a.held = nil
			return
		}
		if a.Queue.Remove(t) {
			c.sendCall(a, t)
		}
	}
}

// heldBack reports whether a call that is about to be queued has to wait, like others
// of its group, for one whose arguments are late; mu held.
func (a *Actor) heldBack(t *Task) bool { return a.Channel != nil && a.held[t.Template.Group] }

// clogged reports whether much that was sent to an actor with groups has not left this process yet: what is in the queue
// can still be held, what is in the socket cannot. Its sending goes on when the socket has taken it; mu held.
func (c *Submitter) clogged(a *Actor) bool {
	o := a.Channel
	if !a.grouped || !o.Full() || o.Unsent() < maxClog {
		return false
	}
	o.WhenSent(func() {
		if a.Channel == o {
			c.pumpActor(a)
		}
	})
	return true
}
