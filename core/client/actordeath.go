package client

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/planted"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// The end of an actor's process. Its socket breaks, the daemon is asked which calls
// had begun, and then each call runs again or fails. When the actor is dead for good
// all its calls fail.

// actorLost notes that the socket to an actor broke, and which calls it had.
// Newer calls wait until it is known which of these had begun, because those
// that are sent again go first; mu held.
func (c *submitter) actorLost(a *actor, o *outConn, sent []*task) {
	if a.conn == o {
		a.conn = nil
	}
	if c.closed {
		return
	}
	a.broken, a.sent = &brokenConn{o.num}, sent
	for _, t := range sent {
		t.on = nil
	}
	if a.dead != nil {
		a.broken = nil
		c.failSent(a)
		return
	}
	if len(sent) > 0 || a.queue.len() > 0 {
		c.resolve(a)
		a.waits(c.looks)
		c.watchPending()
	}
}

// askDeath asks what became of the incarnation whose socket broke, and which
// calls it had begun; mu held.
func (c *submitter) askDeath(a *actor) {
	a.asking = true
	q := wire.ActorLost{ActorID: a.id[:], Incarnation: a.inc, Conn: a.broken.num}
	c.fx.Request(wire.TActorLost, q, func(m *wire.Message, err error) {
		var f wire.ActorDeath
		if err == nil {
			err = m.Decode(&f)
		}
		a.asking = false
		if !c.closed {
			c.deathKnown(a, &f, err)
		}
	})
}

// deathKnown takes the answer, and reports to retries.go what happened to each
// call that the incarnation had. Those that run again go to the front of the
// queue, in their order; mu held.
func (c *submitter) deathKnown(a *actor, f *wire.ActorDeath, err error) {
	if err != nil || f.State == wire.ActorDead {
		died := diedFault(f)
		if err != nil {
			died = fault.From(err)
		}
		a.broken = nil
		c.actorDead(a, died, f.Error)
		return
	}
	sent := a.sent
	a.broken, a.sent = nil, nil
	var again []*task
	for _, t := range sent {
		why := notBegun
		if !f.Known || int32(t.seq-f.Started) <= 0 {
			why = actorDied
		}
		switch v := c.retry(t, why); v.refusal {
		case permitted:
			again = append(again, t)
		case cancelled:
			c.failTask(t, cancelFault(t))
		default:
			c.failTask(t, unavailableFault(f))
		}
	}
	if len(again) > 1 && planted.Strikes(planted.WrongOrder) {
		slices.Reverse(again)
	}
	a.queue.pushFront(again)
	if f.State == wire.ActorAlive {
		a.inc-- // the same one again
	}
	if a.queue.len() > 0 {
		c.resolve(a)
	}
}

// forgetSent removes a cancelled call from those of which it is not known whether they had begun.
func (a *actor) forgetSent(t *task) {
	a.sent = slices.DeleteFunc(a.sent, func(x *task) bool { return x == t })
}

// actorDead notes that an actor is dead for good, and fails all its calls; mu held.
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

// failSent fails the calls that a dead actor had when its socket broke. The
// death and the end of the socket become known in either order; mu held.
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

// failCall fails a call of a dead actor with the constructor's exception, if that is why it is dead; mu held.
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

// diedFault is what calls of a dead actor fail with.
func diedFault(f *wire.ActorDeath) *fault.Error {
	died := fault.New(fault.ActorDied, "%s", f.Message)
	if f.Cause != "" {
		died.Code = fault.Code(f.Cause)
	}
	return died
}

// unavailableFault is what a call fails with that had begun when its actor's
// process ended, while the actor restarts. If the process had taken too much
// memory the fault says so.
func unavailableFault(f *wire.ActorDeath) *fault.Error {
	switch code := fault.Code(f.Cause); code {
	case fault.OutOfMemory, fault.GPUMemoryExceeded:
		return fault.New(code, "%s", f.Message)
	}
	return fault.New(fault.ActorUnavailable, "%s", f.Message)
}
