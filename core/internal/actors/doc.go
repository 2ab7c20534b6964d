// Package actors holds what a process knows about the actors for which it has handles:
// where each actor runs, whether it lives, what its creation still needs, and why it
// died.
//
// # What it owns
//
// An Actor is the row of one actor. Package submit embeds it in a row of its own, which has the
// actor's calls: the queue, the socket and the calls that were sent. Nobody else writes the
// fields of an Actor. The Table has what all actors of a process share.
//
// # Handles
//
// Handles are counted like references to an object. The process that creates an actor owns its token;
// each process that has a handle references or borrows the token, and when the token dies the actor
// ends. The handles of a detached actor, or of an actor that was looked up by name, are counted here;
// when the last of them goes, the actor does not end. The row of such an actor goes with the last
// handle, or, if calls are open then, a second after the last call (handles.go).
//
// # The life of an actor
//
// The creator registers the actor with the head when the constructor's arguments are ready, and
// keeps the objects to which these arguments refer for as long as the constructor may run
// (create.go, creation.go). A caller asks the daemon where the actor is. The daemon answers as
// soon as the actor runs or is dead, and the caller opens a socket to it (resolve.go). Each
// process of the actor is an incarnation. When the socket breaks, the caller asks the daemon
// how the incarnation ended and which calls it had begun. Then the caller asks for the next
// incarnation (resolve.go), or the actor is dead for good (death.go). A large exception of the
// constructor is kept for the actor's callers (raised.go).
//
// # What it asks of others
//
// Effects is what the session does for all actors. Calls has the events of the row that embeds
// an Actor. Constructor is the call of the constructor, which a creator keeps. A call of the
// actor uses none of these: it reads fields only.
//
// # Lock, goroutines, time
//
// The package has no lock, starts no goroutine and reads no clock. Its callers hold the session's
// mutex. The functions that are passed to Effects are called with the mutex held, too.
package actors
