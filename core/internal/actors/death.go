package actors

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The death of an actor, after which it does not run again.

// Die notes that an actor is dead for good, and fails all its calls.
func (a *Actor) Die(f *fault.Error, env []byte) {
	if a.dead == nil {
		a.dead, a.deadEnv = f, env
		a.keepRaised()
	}
	a.calls.FailCalls()
	a.runsNoMore()
}

// Killed notes that the program has ended the actor for good: later calls of ours must not reach it any more.
func (a *Actor) Killed(f *wire.ActorDeath) { a.Die(died(f), f.Error) }

// watchDeath asks the daemon to report when the actor is dead for good.
func (a *Actor) watchDeath() {
	a.of.fx.Request(wire.TActorLost, wire.ActorLost{ActorID: a.ID[:], Incarnation: wire.ActorNever}, func(m *wire.Message, err error) {
		var f wire.ActorDeath
		if fault.CodeOf(err) == fault.HeadUnavailable {
			a.of.fx.Later(headAgain, a.watchDeathAgain)
			return
		}
		if err != nil || m.Decode(&f) != nil {
			return // the session has ended
		}
		if !a.of.ended {
			a.Die(died(&f), f.Error)
		}
	})
}

// watchDeathAgain repeats the request of watchDeath, which the head did not answer.
func (a *Actor) watchDeathAgain() {
	if !a.of.ended && a.dead == nil {
		a.watchDeath()
	}
}

// died returns the fault of calls of a dead actor.
func died(f *wire.ActorDeath) *fault.Error {
	why := fault.New(fault.ActorDied, "%s", f.Message)
	if f.Cause != "" {
		why.Code = fault.Code(f.Cause)
	}
	return why
}

// Unavailable returns the fault of a call that had begun when its actor's
// process ended, while the actor restarts. If the process had taken too much
// memory, the fault says so.
func Unavailable(f *wire.ActorDeath) *fault.Error {
	switch code := fault.Code(f.Cause); code {
	case fault.OutOfMemory, fault.GPUMemoryExceeded:
		return fault.New(code, "%s", f.Message)
	}
	return fault.New(fault.ActorUnavailable, "%s", f.Message)
}

// HandleGone returns the fault of an actor's lost result that only another call of the actor could make, when
// this process has no handle of the actor any more.
func HandleGone(name string, id ids.Actor) *fault.Error {
	return fault.New(fault.ActorDied, "actor %s (%s) has ended: its last handle is gone; what its methods returned cannot be computed again", name, id)
}
