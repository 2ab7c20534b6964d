// Package head is the head role: it keeps actors alive, tells callers where
// they are, and passes nodes, jobs and key-values through to the replicated
// state.
//
// # How it works
//
// The head owns no truth. A request or a report becomes a change of the State;
// the change comes back as an event, on every head; and the head that leads
// acts on the event: it asks the Placer to start or stop a worker and answers
// who waits for the actor. So what it does follows from what is committed. A
// new leader reads the state and asks again for whatever is not yet done.
//
//	request, report → State.ActorX → event → tracker → Placer, waiters
//
// tracker is a pure machine: records in, actions out. It has no lock, clock or
// goroutine, and its tests are scripts.
//
// # The life of an actor
//
//	CreateActor      PENDING, PlaceActor(incarnation 1)
//	ActorStarted     ALIVE; waiters get the address
//	ActorWorkerDied  RESTARTING, PlaceActor(incarnation+1) while max_restarts allows, else DEAD
//	ActorStartFailed, ActorExited   DEAD
//	KillActor        StopActor(now); DEAD, or RESTARTING when the caller allows restarts
//	ReleaseActor     when it is ALIVE StopActor(drain), then ActorExited; no restart any more
//	OwnerDied, EndJob   DEAD and StopActor(now), unless detached
//	NodeDied         as ActorWorkerDied, for all actors on the node
//
// ActorInfeasible is the one thing that is not replicated: the head that the
// daemon told answers waiters with UNSCHEDULABLE until the actor is placed.
//
// # Goroutines
//
// Two: one reads the State's events and puts them into the inbox, one empties
// the inbox. All reports, all calls of the Placer and all answers to waiters
// (but those known at once) happen on the second, in order. Requests commit on
// their callers' goroutines.
package head
