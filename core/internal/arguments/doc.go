// Package arguments is what one task, call or constructor takes, and for how long that is kept.
//
// # What it owns
//
// Arguments is a row that package submit embeds in its tasks. It has the envelope of the small
// arguments, or the object in the store that holds them when they are large; the
// arguments by reference; and the objects that there are references to inside of the others.
// Nobody else writes its fields. All these objects are pinned in the reference table (package
// refs), from when they are added until Unpin. Those of a finished task, which is kept for its
// results, are not pinned: its recipe has their lineage.
//
// # What it does
//
// It says what is not ready, failed, or too large for one message (args.go); writes where each
// argument is into the frame of a task or into an actor's registration (frame.go); keeps the
// objects for a run, for one more run, or until a worker has registered what it keeps (hold.go);
// and tells them to a successor (restore.go).
//
// The package sends nothing. It has no lock, no goroutine and no clock; the session's mutex
// guards it.
package arguments
