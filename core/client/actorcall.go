package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/own"
)

// actorDead fails everything that is queued for it.
func (c *Client) actorDead(a *actor, f *fault.Error, env []byte) {
	if a.dead == nil {
		a.dead, a.deadEnv = f, env
	}
	c.failSent(a)
	for a.queue.len() > 0 {
		c.failCall(a, a.queue.pop())
	}
	c.runsNoMore(a)
}

// failSent fails the calls of a dead actor whose socket has broken. Its death and
// the end of its socket are heard of in any order; mu held.
func (c *Client) failSent(a *actor) {
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

func (c *Client) failCall(a *actor, t *task) {
	if a.deadEnv != nil {
		c.freeWritten(t)
		t.failed = true
		c.eachReturn(t, func(_ int, o *own.Object) {
			c.complete(o, own.Inline, a.deadEnv, uint64(len(a.deadEnv)), true)
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
			c.hopeless(t, a.bad)
		}
		a.queue.push(t)
		c.pumpActor(a)
	}
	return first, int(t.returns), nil
}

// pumpActor sends the calls whose arguments are ready, in order; mu held.
func (c *Client) pumpActor(a *actor) {
	if a.conn == nil {
		if a.queue.len() > 0 {
			c.resolve(a)
			a.waits(c.looks)
			c.watchPending()
		}
		return
	}
	for a.queue.len() > 0 {
		t := a.queue.first()
		if t.waiting > 0 && !t.canceled {
			return
		}
		a.queue.pop()
		if t.canceled {
			c.failTask(t, cancelFault(t))
			continue
		}
		if d := t.badDep(); d != nil {
			c.failLike(t, d)
			continue
		}
		if c.tooMuch(t) {
			a.queue.pushFront([]*task{t})
			t.waiting++ // until its arguments are in the arena
			t.since = c.looks
			go c.moveArguments(t)
			return
		}
		t.on = a.conn
		a.conn.send(t)
	}
}

// callEnded is told once for each call that has its answer.
func (c *Client) callEnded(a *actor) {
	a.pending--
	if a.token != nil {
		c.table.Unpin(a.token)
		c.carryOut()
	}
}
