// Package head is the head role: it keeps actors alive, tells callers where actors are,
// and passes nodes, jobs and key-values through to the replicated state.
//
// # How it works
//
// The replicated state, not the head, is the truth. A request or a report becomes a change
// of the State. The change comes back as an event, on every head. The head that leads acts
// on the event: it asks the Placer to start or stop a worker, and answers the callers that
// wait for the actor. So what a head does always follows from what is committed. A new
// leader reads the state and asks again for everything that is not done yet.
//
//	request, report → State.ActorX → event → tracker → Placer, waiters
//
// tracker is a pure machine: records come in, actions come out. It has no lock, clock or
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
//	NodeDied         as ActorWorkerDied, for all actors on the node; EndJob for the jobs of its drivers
//
// ActorInfeasible is the one report that is not replicated: only the head that got the
// report answers waiters with UNSCHEDULABLE, until the actor is placed.
//
// # Keys
//
// The key-value store of Go programs (core.KV) is the State's. The head makes its reads fresh, and while it leads it counts the time of
// leases (package keyleases): keys.go, keyleases.go.
//
// # Goroutines
//
// There are three. One begins the reigns of leases of keys, and ends leases. One reads the State's events and puts them into the inbox. The other one
// empties the inbox: all reports, all calls of the Placer and all answers to waiters happen
// on it, in order, except for answers that are known at once. Requests commit on the
// goroutines of their callers.
package head
