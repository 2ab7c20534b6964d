package actors

import (
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What the process that creates an actor keeps for the constructor, and for how long.

// Constructor is the call of an actor's constructor.
type Constructor interface {
	// Await calls the function once all arguments are ready. It returns false when they are ready now.
	Await(ready func()) bool
	// Spec encodes what the worker needs to run the constructor. From then on arguments that are
	// not ready are asked for by the worker.
	Spec() []byte
	// Takes reports whether the constructor takes objects, by reference or because its arguments are large.
	Takes() bool
	// Holds reports whether objects are kept for the constructor, inside its arguments or as arguments.
	Holds() bool
	// Retain keeps these objects until a worker has registered the references that it keeps.
	Retain(worker string)
	// Release lets go of the objects.
	Release()
}

// creation is what the process that creates an actor keeps until the constructor
// has ended, and for longer if the constructor may run again.
type creation struct {
	constructor Constructor
	request     *wire.ActorCreate
	announced   bool // the head was told
	again       bool // the constructor has ended, and runs again if the actor restarts
}

// Creation returns the constructor's call, nil when it has ended for good. Announced: the head knows the actor.
func (a *Actor) Creation() (k Constructor, announced bool) {
	if a.creation == nil {
		return nil, false
	}
	return a.creation.constructor, a.creation.announced
}

// NeedsCreator reports whether the actor's constructor may still ask for arguments
// that this process owns, or waits for them to be registered.
func (a *Actor) NeedsCreator() bool {
	b := a.creation
	switch {
	case b == nil:
		return false
	case b.again:
		return a.token == nil || a.token.Borrowers() > 0 // else it ends with this process's handles
	}
	return b.constructor.Takes() || !b.announced
}

// runsNoMore notes that the constructor does not run again.
func (a *Actor) runsNoMore() {
	if a.creation != nil && a.creation.again {
		a.endCreation()
	}
}

// endCreation lets go of the constructor's arguments.
func (a *Actor) endCreation() {
	b := a.creation
	a.creation = nil
	b.constructor.Release()
	a.forgetUnheld() // its last handle may have gone meanwhile
	a.of.fx.CreationEnded()
}

// forget ends what this process knows of an actor.
func (a *Actor) forget() {
	a.forgotten = true
	a.calls.Forget()
	a.runsNoMore()
	a.dropRaised()
}

// forgetUnheld forgets an actor that this process has no handle of and no call to.
func (a *Actor) forgetUnheld() {
	if a.unheld() {
		a.forget()
	}
}

// unheld reports whether the row is there, and nothing needs it: no token, no handle, no open call, and no
// constructor, which may need arguments of ours.
func (a *Actor) unheld() bool {
	return !a.forgotten && a.token == nil && a.handles <= 0 && a.creation == nil && a.calls.Unanswered() == 0
}
