package actors

import (
	"math/rand/v2"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Where an actor runs, and the socket to it. The head tells the process that runs an
// actor; its calls wait until the socket is open. When the socket breaks the daemon is asked
// what became of the incarnation, and then the next one is asked for, or the actor is dead for good.

// Resolve asks the daemon where the actor is, or, when its socket broke, what became of it.
func (a *Actor) Resolve() {
	if a.asking || a.dead != nil || a.of.ended {
		return
	}
	if a.broken {
		a.askDeath()
		return
	}
	a.asking = true
	a.of.fx.Request(wire.TActorResolve, wire.ActorResolve{ActorID: a.ID[:], After: a.incarnation}, func(m *wire.Message, err error) {
		var s wire.ActorState
		if err == nil {
			err = m.Decode(&s)
		}
		a.resolved(&s, err)
	})
}

// resolved takes the daemon's answer.
func (a *Actor) resolved(s *wire.ActorState, err error) {
	a.asking = false
	if a.of.ended {
		return
	}
	switch {
	case fault.CodeOf(err) == fault.NotFound && a.unannounced():
		a.patience = min(2*a.patience+time.Millisecond, resolveAgain) // the handle was quicker than the registration
		a.resolveLater(a.patience)
		return
	case fault.CodeOf(err) == fault.HeadUnavailable, fault.CodeOf(err) == fault.VersionMismatch:
		// The actor may well live, or runs on a node of another release and may move: the calls wait, and whoever waits for them is told why.
		a.bad = fault.From(err)
		a.calls.Unschedulable(a.bad)
		a.resolveLater(headAgain)
		return
	case err != nil:
		a.Die(fault.From(err), nil)
	case s.State == wire.ActorAlive:
		a.asking, a.bad = true, nil
		a.calls.Open(Incarnation{Number: s.Incarnation, Addr: s.Addr, Conn: rand.Uint32()})
		a.retainLate(s)
	case s.State == wire.ActorUnschedulable:
		a.bad = fault.New(fault.ActorUnschedulable, "%s", s.Message)
		a.calls.Unschedulable(a.bad)
		return // the constructor may still run one day: keep its arguments
	default:
		code := fault.Code(s.Cause)
		if code == "" {
			code = fault.ActorDied
		}
		a.Die(fault.New(code, "%s", s.Message), s.Error)
	}
	a.constructorEnded()
}

// resolveLater asks again after a pause.
func (a *Actor) resolveLater(pause time.Duration) {
	a.asking = true
	a.of.fx.Later(pause, func() {
		a.asking = false
		a.Resolve()
	})
}

// SocketOpened notes that the socket to an incarnation is open, or that it cannot be opened. It reports whether calls can be sent.
func (a *Actor) SocketOpened(x Incarnation, err error) bool {
	a.asking, a.incarnation = false, x.Number
	a.over = err != nil
	if err != nil { // most likely it has died since, and the daemon knows
		a.Lost(x)
		a.Resolve()
	}
	return err == nil
}

// resolveAgain is the longest pause before the daemon is asked again for an actor
// that its creator has not registered yet, because the constructor's arguments
// are not ready. A longer pause would delay the actor's first call noticeably.
const resolveAgain = 50 * time.Millisecond

// headAgain is the pause before a question is repeated to which the head of the cluster gave no
// answer. The head had a minute for it.
const headAgain = time.Second

// unannounced reports whether another process, which lives, is about to register the actor.
func (a *Actor) unannounced() bool {
	return a.token != nil && !a.token.Owned() && a.of.fx.Known(a.token.OwnerAddr())
}

// Lost notes that the socket to an incarnation broke. Resolve asks how the incarnation ended.
func (a *Actor) Lost(x Incarnation) { a.broken, a.over, a.conn = true, true, x.Conn }

// State is what this process knows of the actor without asking anybody: that it is alive, restarting or dead, and "" while it has not heard that the actor runs. Nobody
// reads the socket to an idle actor, so its end may be known later. When the next incarnation is awaited, and no call asks for it, State asks where it is.
func (a *Actor) State() string {
	switch {
	case a.dead != nil:
		return wire.ActorDead
	case a.over:
		a.Resolve()
		return wire.ActorRestarting
	case a.incarnation == 0:
		return ""
	}
	return wire.ActorAlive
}

// askDeath asks what became of the incarnation whose socket broke, and which
// calls it had begun.
func (a *Actor) askDeath() {
	a.asking = true
	q := wire.ActorLost{ActorID: a.ID[:], Incarnation: a.incarnation, Conn: a.conn}
	a.of.fx.Request(wire.TActorLost, q, func(m *wire.Message, err error) {
		var f wire.ActorDeath
		if err == nil {
			err = m.Decode(&f)
		}
		a.asking = false
		if !a.of.ended {
			a.deathKnown(&f, err)
		}
	})
}

// deathKnown takes the answer.
func (a *Actor) deathKnown(f *wire.ActorDeath, err error) {
	if fault.CodeOf(err) == fault.HeadUnavailable {
		a.resolveLater(headAgain)
		return
	}
	a.broken = false
	if err != nil || f.State == wire.ActorDead {
		why := died(f)
		if err != nil {
			why = fault.From(err)
		}
		a.Die(why, f.Error)
		return
	}
	a.calls.Sort(f)
	if f.State == wire.ActorAlive {
		a.incarnation-- // the same one again
	}
	if a.calls.Waiting() {
		a.Resolve()
	}
}

// retainLate keeps what the constructor of a running actor took until the
// worker has registered the references that it keeps, because an owner of such
// a reference may answer late. For an actor that may restart this is kept anyway.
func (a *Actor) retainLate(s *wire.ActorState) {
	if b := a.creation; s.Unregistered && b != nil && !b.again {
		b.constructor.Retain(s.Addr)
	}
}

// constructorEnded notes that the constructor has ended, in whatever way.
func (a *Actor) constructorEnded() {
	b := a.creation
	if b == nil || b.again {
		return
	}
	if a.dead == nil && b.request.MaxRestarts != 0 && b.constructor.Holds() && !a.forgotten {
		b.again = true
		a.watchDeath()
		return
	}
	a.endCreation()
}
