// Package executor is the half of a session that other processes call: it gives the program of a worker or an actor the
// calls to run, fetches their arguments, and sends their results.
//
// Package execute decides which call comes next, and what an answer says in addition to its values. This package does
// the work around it: it waits (NextTask, FeedRoom, LastCalls), it fetches arguments (package callargs) and large
// classes (package actorclass), and it writes results into answers or into the object store (reply.go, feed.go).
// effects.go has what package execute asks of its session.
//
// # Event loops
//
// An actor with coroutines polls through the core: its event loop is the leader of the poller (loop.go). The loop never
// waits for the arguments of a call. A goroutine fetches them, and later calls wait in order.
//
// # Locks and goroutines
//
// Everything here is guarded by the session's mutex. The methods that a program calls take it, and release it while they
// wait, while they write a large value to the store and while they ask the daemon. Goroutines are started for one call's
// arguments at a time (event loops only) and for the end of a process by force.
package executor
