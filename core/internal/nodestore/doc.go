// Package nodestore is the node's object store as a session uses it. It joins the state
// machine of package localstore to the connection to the daemon, and it waits for the
// daemon's answers.
//
// # What is where
//
// Package localstore decides what is pinned and mapped, which callers share one request, and
// what is kept for the next task or put. It never waits. This package sends the requests to
// the daemon (daemon.go), takes the answers under the session's mutex, and blocks until they
// are there. Package refs decides whether an object is ready or lost.
//
// # Who waits, and for how long
//
//   - A reader waits for an object's place (pin.go). It waits for at least a moment, so that a
//     get with a short timeout finds an object that is in memory.
//   - A writer waits for room (room.go). A full store answers only when it has room, so the
//     wait handles the program's signals meanwhile.
//   - A caller of wait asks whether the store still has the objects (check.go).
//
// Values are read and written without the mutex.
//
// # Locks and goroutines
//
// The session gives its mutex to Init. Methods are called with it held, and those that
// wait release it meanwhile, unless their comment says otherwise. A goroutine opens each
// file that a spilled object lies in, and a timer trims the arena's pages (trim.go).
//
// After End nothing asks, waits or is kept for later. Close ends the use of the memory;
// what the program still looks at stays mapped.
package nodestore
