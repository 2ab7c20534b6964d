// Package arguments holds what one task, call or constructor takes as arguments, and decides
// how long these are kept.
//
// # What it owns
//
// Arguments is a row that package submit embeds in its tasks. It has the envelope of the small
// arguments, or the object in the store that holds them when they are large; the arguments by
// reference; and the objects to which references inside the other arguments refer. Nobody else
// writes its fields. All these objects are pinned in the reference table (package refs) from
// the time they are added until Unpin. The arguments of a finished task that is kept for its
// results are not pinned: the recipe of the task holds their lineage.
//
// # What it does
//
// It says which arguments are not ready, have failed, or are too large for one message
// (args.go). It writes the place of each argument into the frame of a task or into an actor's
// registration (frame.go). It keeps the objects for a run, for one more run, or until a worker
// has registered what it keeps (hold.go). And it passes them on to a successor (restore.go).
//
// The package sends nothing. It has no lock, no goroutine and no clock; the session's mutex
// guards it.
package arguments
