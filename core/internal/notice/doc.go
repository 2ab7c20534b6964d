// Package notice has what a process tells its user without being asked: the
// output of workers, warnings, and failures that nobody has fetched.
//
//   - Notes is the queue of a driver's notes, which its program prints.
//   - Stderr writes a worker's words to its standard error.
//   - Unfetched reports failures that nobody has looked at. Such a failure would vanish
//     with the last reference to it, so the process that owns the result tells its user.
//     It shows the first failure of a period and counts the others.
//
// # What counts as looked at
//
// An object knows whether somebody has looked at it (refs.Object.Seen): get, wait and
// await do, a task that takes the result as an argument does, and so does another
// process that asks for the value; that process then reports the failure itself.
// Cancelled work and calls of dead actors are not reported, as with Ray.
//
// # Locks and goroutines
//
// Notes and Stderr have a lock of their own, take no other lock under it, and may be used
// at any time. Stderr runs a goroutine while it has lines to write, because a pipe that
// nobody reads blocks its writer. The number of waiting lines is bounded. Unfetched is
// part of the session: its methods are called with the session's mutex held, and neither
// block nor start goroutines.
package notice
