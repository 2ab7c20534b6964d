package client

import (
	"math/rand/v2"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
)

// Where an actor runs, and the socket to it. The head tells the process that runs an
// actor; its calls wait in the actor's queue until the socket is open.

// resolve asks the daemon where the actor is, or, when its socket broke, what became of it; mu held.
func (c *submitter) resolve(a *actor) {
	if a.asking || a.dead != nil || c.closed {
		return
	}
	if a.broken != nil {
		c.askDeath(a)
		return
	}
	a.asking = true
	c.fx.Request(wire.TActorResolve, wire.ActorResolve{ActorID: a.id[:], After: a.inc}, func(m *wire.Message, err error) {
		var s wire.ActorState
		if err == nil {
			err = m.Decode(&s)
		}
		c.resolved(a, &s, err)
	})
}

// resolved takes the daemon's answer; mu held.
func (c *submitter) resolved(a *actor, s *wire.ActorState, err error) {
	a.asking = false
	if c.closed {
		return
	}
	switch {
	case fault.CodeOf(err) == fault.NotFound && c.unannounced(a):
		a.asking = true // the handle was quicker than the registration
		a.patience = min(2*a.patience+time.Millisecond, resolveAgain)
		c.fx.After(a.patience, func() {
			a.asking = false
			c.resolve(a)
		})
		return
	case err != nil:
		c.actorDead(a, fault.From(err), nil)
	case s.State == wire.ActorAlive:
		c.connectActor(a, s)
		c.settlesLate(a, s)
	case s.State == wire.ActorUnschedulable:
		a.bad = fault.New(fault.ActorUnschedulable, "%s", s.Message)
		a.queue.each(func(t *task) { c.infeasible(t, a.bad) })
		return // the constructor may still run one day: keep its arguments
	default:
		code := fault.Code(s.Cause)
		if code == "" {
			code = fault.ActorDied
		}
		c.actorDead(a, fault.New(code, "%s", s.Message), s.Error)
	}
	c.constructorEnded(a)
}

// connectActor opens a socket to an actor that runs; mu held.
func (c *submitter) connectActor(a *actor, s *wire.ActorState) {
	a.asking, a.bad = true, nil
	o := newOutConn(c, s.Addr)
	o.actor, o.num, o.inc = a, rand.Uint32(), s.Incarnation
	c.fx.Connect(o, wire.Hello{Version: wire.Version, Role: wire.RoleActor, OwnerID: c.self[:], Addr: c.info.Addr, ActorID: a.id[:], LeaseID: uint64(o.num), JobID: c.info.Job[:]}, -1)
}

// actorConnected notes that the socket to an actor is open, or that it cannot be opened; mu held.
func (c *submitter) actorConnected(a *actor, o *outConn, err error) {
	a.asking, a.inc = false, o.inc
	if err != nil { // most likely it has died since, and the daemon knows
		a.broken = &brokenConn{o.num}
		c.resolve(a)
		return
	}
	a.conn, a.stuck = o, false
	c.pumpActor(a)
}

// resolveAgain is the longest pause before the daemon is asked again for an actor
// that its creator has not registered yet, because the constructor's arguments
// are not ready. A longer pause would delay the actor's first call noticeably.
const resolveAgain = 50 * time.Millisecond

// unannounced reports whether another process, which lives, is about to register the actor.
func (c *submitter) unannounced(a *actor) bool {
	return a.token != nil && !a.token.Owned() && c.fx.Known(a.token.OwnerAddr())
}
