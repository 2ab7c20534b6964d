// Package callargs fetches the arguments of a call before a worker's program begins the call.
//
// A small argument came with the call. An argument in the store is mapped, and all stored
// arguments of a call are requested together. If an argument was not known to be ready when
// the call was sent, its owner is asked, in the same way as for a get of the program.
//
// # What is lost
//
// When the store has lost an argument, the argument's owner computes it again. The kind of
// the call decides who waits for that:
//
//   - A task is given back to its caller, which sends it again when the argument is there.
//   - An actor's call, whose place in the order of calls must not change, waits in the
//     actor's queue (Defer), so that the actor can run calls of other callers meanwhile.
//   - A constructor waits in Fetch. A call also waits there if it was deferred too often, or
//     if its argument cannot come back.
//
// # Locks and goroutines
//
// A Fetcher is part of the session. Its methods are called with the session's mutex held;
// Fetch releases it while it waits. The package starts no goroutine. A call holds the
// objects that it has borrowed for its arguments (execute.Call.Hold) until it has ended.
package callargs
