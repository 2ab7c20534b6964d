package actors

import (
	"bytes"
	"errors"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What a successor has to know of an actor.

// Snapshot returns what a successor has to know, apart from the actor's calls and its constructor's
// call. False: nobody can call the actor any more.
func (a *Actor) Snapshot() (x snapshot.Actor, known bool) {
	if a.token == nil && a.calls.Unanswered() == 0 && a.creation == nil {
		return x, false // nobody has a handle of it
	}
	x = snapshot.Actor{ID: bytes.Clone(a.ID[:]), Name: a.name, Incarnation: a.incarnation, DeadEnv: a.deadEnv, Raised: a.raised != nil, Broken: a.broken}
	if a.token != nil {
		x.Token = bytes.Clone(a.token.ID[:])
	}
	if a.broken {
		x.Number = a.conn
	}
	if f := a.dead; f != nil {
		x.Dead = &wire.FaultBody{Code: string(f.Code), Message: f.Message, Task: f.Task}
	}
	if b := a.creation; b != nil {
		x.Creation = &snapshot.Creation{Request: *b.request, Announce: b.announced, Again: b.again}
	}
	return x, true
}

// Restore makes an actor what it was in another process. Its token is in the table already.
func (a *Actor) Restore(x *snapshot.Actor, token *refs.Object) error {
	a.incarnation, a.broken, a.conn, a.token, a.deadEnv = x.Incarnation, x.Broken, x.Number, token, x.DeadEnv
	if token != nil {
		a.of.objects.MakeToken(token, a.calls)
	}
	if f := x.Dead; f != nil {
		a.dead = &fault.Error{Code: fault.Code(f.Code), Message: f.Message, Task: f.Task}
	}
	if x.Raised {
		if p, err := envelope.PointerIn(a.deadEnv); err != nil || p == nil || a.of.objects.Find(p.ID) == nil {
			return errors.New("the exception of its constructor is not part of the snapshot")
		}
		a.keepRaised()
	}
	return nil
}

// RestoreCreation gives a restored actor its constructor's call.
func (a *Actor) RestoreCreation(x *snapshot.Creation, k Constructor) {
	a.creation = &creation{constructor: k, request: &x.Request, announced: x.Announce, again: x.Again}
}

// Resume lets a restored actor go on. It returns false when the actor is dead and had a constructor that was
// still running, because then there is nothing to continue.
func (a *Actor) Resume() bool {
	b := a.creation
	switch {
	case b == nil:
	case a.dead != nil: // it was killed while its constructor ran
		a.endCreation()
		return false
	case b.again:
		a.watchDeath()
	case !b.announced:
		a.RegisterWhenReady()
	default:
		a.Resolve()
	}
	return true
}
