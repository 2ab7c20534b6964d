package client

import "github.com/eagleray/eagleray/core/wire"

// What a constructor's arguments refer to must live for as long as it may run
// again: its creator keeps it until the actor is dead for good.

// settlesLate holds what the constructor of an actor that runs has got, until its worker has registered the references that
// it keeps: the owner of one may be late. An actor that may restart is held for anyway; mu held.
func (c *submitter) settlesLate(a *actor, s *wire.ActorState) {
	if b := a.birth; s.Unregistered && b != nil && !b.again {
		c.unsettled(b.task, s.Addr)
	}
}

// born: the constructor has ended, one way or the other; mu held.
func (c *submitter) born(a *actor) {
	b := a.birth
	if b == nil || b.again {
		return
	}
	if a.dead == nil && b.req.MaxRestarts != 0 && b.holds() && c.actors[a.id] == a {
		b.again = true
		c.watchDeath(a)
		return
	}
	c.unbear(a)
}

// unbear lets the constructor's arguments go; mu held.
func (c *submitter) unbear(a *actor) {
	b := a.birth
	a.birth = nil
	c.unpinTask(b.task)
	if a.token == nil && a.handles <= 0 && a.pending == 0 {
		c.forgetActor(a) // its handles went meanwhile
	}
	c.fx.LessNeeded()
}

// runsNoMore: the actor is dead, or will not restart; mu held.
func (c *submitter) runsNoMore(a *actor) {
	if a.birth != nil && a.birth.again {
		c.unbear(a)
	}
}

// holds reports whether there is anything that lives for the constructor's sake.
func (b *birth) holds() bool {
	return len(b.task.deps) > 0 || len(b.task.nested) > 0 || b.task.argsRef != nil
}

// watchDeath asks to be told when the actor is dead for good; mu held.
func (c *submitter) watchDeath(a *actor) {
	c.fx.Request(wire.TActorLost, wire.ActorLost{ActorID: a.id[:], Incarnation: wire.ActorNever}, func(m *wire.Message, err error) {
		var f wire.ActorDeath
		if err != nil || m.Decode(&f) != nil {
			return // the session has ended
		}
		if !c.closed {
			c.actorDead(a, diedFault(&f), f.Error)
		}
	})
}
