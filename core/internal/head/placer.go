package head

import "github.com/eagleray/eagleray/core/record"

// Placer finds a node for an actor and runs it there; the daemon implements
// it. Its methods must not block and must not call the head back before they
// return. They are called from one goroutine, in order.
type Placer interface {
	// PlaceActor starts the record's incarnation somewhere. It answers with
	// ActorStarted, ActorStartFailed or ActorWorkerDied, and says
	// ActorInfeasible while no node could ever take it (it keeps trying).
	// Asked twice for the same incarnation (a new leader cannot know) it
	// starts one worker.
	PlaceActor(a record.Actor)
	// StopActor ends an instance. Node and Worker are zero while it is being
	// placed: then placing ends. An instance that is gone is no error.
	StopActor(i record.Instance, how Stop)
}

// Stop says how an instance ends.
type Stop string

// The ways.
const (
	// StopNow ends the worker's process, or the placing, at once. The head
	// already knows why; a report about the instance is ignored.
	StopNow Stop = "now"
	// StopDrain lets the worker finish the calls that have arrived; then the
	// daemon reports ActorExited.
	StopDrain Stop = "drain"
)
