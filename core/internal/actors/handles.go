package actors

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The handles that this process has of actors. Those of an actor with a token are
// references to the token; those of another actor are counted here.

// CountHandle counts a handle, which has a token or has none, and returns the token that the actor is known
// by. False: the handle is the first one with a token, and SetToken has to follow.
func (a *Actor) CountHandle(hasToken bool) (token *refs.Object, counted bool) {
	switch {
	case a.token != nil:
		a.of.objects.Ref(a.token)
	case !hasToken || a.handles > 0:
		a.handles++
	default:
		return nil, false
	}
	return a.token, true
}

// SetToken sets the actor's token, to which the first handle with a token refers. Calls that are already open hold
// the token, too, because CallEnded lets go of it once for each of them.
func (a *Actor) SetToken(token *refs.Object) {
	a.token = token
	a.of.objects.MakeToken(token, a.calls)
	a.of.objects.Ref(token)
	for range a.calls.Unanswered() {
		a.of.objects.Pin(token)
	}
}

// CloseHandle lets go of a handle. If the actor has a token the handle is a reference, and ends elsewhere.
func (a *Actor) CloseHandle() {
	if a.token != nil {
		return
	}
	a.handles--
	a.forgetUnheld()
}

// HandlesGone notes that the actor's token died, so nobody can call the actor any more.
func (a *Actor) HandlesGone() {
	if a.token.Owned() { // a borrowed token is given back by the table of objects
		a.of.fx.Push(wire.TActorRelease, wire.ActorRef{ActorID: a.ID[:]})
	}
	a.forget()
}

// HoldCall keeps the actor for a call until CallEnded.
func (a *Actor) HoldCall() {
	if a.token != nil {
		a.of.objects.Pin(a.token)
	}
}

// CallEnded is called once for each call that has its answer.
func (a *Actor) CallEnded() {
	switch {
	case a.token != nil:
		a.of.objects.Unpin(a.token)
		a.of.objects.CarryOut()
	case a.handles <= 0:
		a.forgetLater()
	}
}

// unheldFor is how long a row stays that has no handle, no token and no open call. A program that looks an actor
// up by its name for each call, and keeps no handle until the answer, would otherwise ask the daemon for the actor
// and open a socket to it for each call.
const unheldFor = time.Second

// forgetLater forgets an unheld row unless calls go on. A row has one timer at most.
func (a *Actor) forgetLater() {
	switch {
	case !a.unheld():
	case a.timed:
		a.called = true
	default:
		a.timed, a.called = true, false
		a.of.fx.Later(unheldFor, a.lookAgain)
	}
}

// lookAgain forgets the row if it is still unheld and no call has ended since the timer was set.
func (a *Actor) lookAgain() {
	a.timed = false
	switch {
	case a.of.ended:
	case a.called:
		a.forgetLater()
	default:
		a.forgetUnheld()
	}
}
