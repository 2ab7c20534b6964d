package submit

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The actors that this process has handles of, and the sockets to them. Package actors knows
// where an actor is, whether it lives and what its creation needs; here are its calls.

var (
	_ actors.Calls   = (*Actor)(nil)
	_ actors.Effects = (*actorEffects)(nil)
)

// addActor makes a row for an actor.
func (c *Submitter) addActor(id ids.Actor, name string, limit int) *Actor {
	a := &Actor{c: c, limit: limit}
	c.actors.Add(&a.Actor, a, id, name)
	c.Actors[id] = a
	return a
}

// NewActor makes an actor whose constructor is the task, with one handle; mu held.
func (c *Submitter) NewActor(s *actors.Spec, t *Task, tm *Template, site uint32) *Actor {
	a := c.addActor(ids.NewActor(c.Job), s.ClassName, s.MaxPendingCalls)
	a.Create(s, &constructor{c, t, tm}, site)
	return a
}

// OpenActor returns the actor that a handle leads to; mu held.
func (c *Submitter) OpenActor(id ids.Actor, name string, limit int) *Actor {
	if a := c.Actors[id]; a != nil {
		return a
	}
	return c.addActor(id, name, limit)
}

// Callable returns an actor that takes one more call; mu held.
func (c *Submitter) Callable(id ids.Actor) (*Actor, error) {
	a := c.Actors[id]
	switch {
	case a == nil:
		return nil, fault.New(fault.NotFound, "actor %s: this process holds no handle of it", id)
	case a.limit > 0 && a.Pending >= a.limit:
		return nil, fault.New(fault.PendingCallsLimit, "actor %s (%s) has %d calls pending, max_pending_calls=%d", a.Name(), id, a.Pending, a.limit)
	}
	return a, nil
}

// Token returns the token of an actor that this process has a handle of, nil if there is none; mu held.
func (c *Submitter) Token(id ids.Actor) *refs.Object {
	if a := c.Actors[id]; a != nil {
		return a.Token()
	}
	return nil
}

// ActorState is what this process knows of an actor that it has a handle of, see actors.Actor.State; mu held.
func (c *Submitter) ActorState(id ids.Actor) string {
	if a := c.Actors[id]; a != nil {
		return a.State()
	}
	return ""
}

// CloseActor lets go of a handle of an actor that has no token; mu held.
func (c *Submitter) CloseActor(id ids.Actor) {
	if a := c.Actors[id]; a != nil {
		a.CloseHandle()
	}
}

// ActorKilled notes that the program has ended an actor for good; mu held.
func (c *Submitter) ActorKilled(id ids.Actor, f *wire.ActorDeath) {
	if a := c.Actors[id]; a != nil {
		a.Killed(f)
	}
}

// Waiting implements actors.Calls.
func (a *Actor) Waiting() bool { return a.Queue.Len() > 0 }

// Unanswered implements actors.Calls.
func (a *Actor) Unanswered() int { return a.Pending }

// Open implements actors.Calls.
func (a *Actor) Open(x actors.Incarnation) {
	c := a.c
	o := NewChannel(c, x.Addr)
	o.Actor, o.number, o.inc = a, x.Conn, x.Number
	c.fx.Connect(o, o.addr, wire.Hello{Version: wire.Version, Role: wire.RoleActor, OwnerID: c.Self[:], Addr: c.Addr, ActorID: a.ID[:], LeaseID: uint64(o.number), JobID: c.Job[:]}, -1)
}

// actorConnected notes that the socket to an actor is open, or that it cannot be opened; mu held.
func (c *Submitter) actorConnected(a *Actor, o *Channel, err error) {
	if a.SocketOpened(o.incarnation(), err) {
		a.Channel, a.stuck = o, false
		c.pumpActor(a)
	}
}

// incarnation is what the channel leads to.
func (o *Channel) incarnation() actors.Incarnation {
	return actors.Incarnation{Number: o.inc, Addr: o.addr, Conn: o.number}
}

// Unschedulable implements actors.Calls.
func (a *Actor) Unschedulable(why *fault.Error) {
	a.Queue.Each(func(t *Task) { a.c.infeasible(t, why) })
}

// Forget implements actors.Calls.
func (a *Actor) Forget() {
	delete(a.c.Actors, a.ID)
	if a.Channel != nil {
		a.Channel.Flush()
		a.Channel.Close()
		a.Channel = nil
	}
}

// actorEffects is what the actors ask of the session.
type actorEffects Submitter

// Push implements actors.Effects.
func (e *actorEffects) Push(t wire.Type, body any) { e.fx.Push(t, body) }

// Request implements actors.Effects.
func (e *actorEffects) Request(t wire.Type, body any, answered func(*wire.Message, error)) {
	e.fx.Request(t, body, answered)
}

// Known implements actors.Effects.
func (e *actorEffects) Known(addr string) bool { return e.fx.Known(addr) }

// Later implements actors.Effects.
func (e *actorEffects) Later(d time.Duration, f func()) { e.fx.After(d, f) }

// MakeRoom implements actors.Effects.
func (e *actorEffects) MakeRoom() { (*Submitter)(e).ReturnIdleOfOthers(nil) }

// CreationEnded implements actors.Effects.
func (e *actorEffects) CreationEnded() {
	if e.leaving {
		e.fx.LessNeeded()
	}
}
