// Package refs is the reference table of one process: the objects that it owns
// and those that it borrows, who holds each of them, what is known of their
// values, and who waits for them.
//
// It is a machine of events. Most methods of Table are events: a reference was made,
// a value came, a borrower went, an owner answered. The others are questions, which
// change nothing. What follows from an event is an effect, which the session carries
// out (Effects). Most effects happen in the middle of the event. What follows from the
// death of objects is collected, so that a million objects that went together are one
// message: CarryOut causes those effects. The events that the processes of others
// cause call it themselves, after the others the session calls it. The
// package has no clock, socket or goroutine, and no lock of its own apart from
// that of the process's ref batches: core/client calls it under the session's
// mutex, and the effects run under it, too.
//
// An object lives while any of these is left: a local reference, a pin (a task
// that takes it as an argument, a value that contains it, a reply that was not
// yet received), a borrower, a recorded task that needs it to run again. An owned object that dies frees its stored copy and
// lets go of what its value contains. A borrowed one is given back to its owner.
//
// A reference that comes from elsewhere is registered with its owner. Until the
// owner has acknowledged that, the process keeps everything that may have brought the
// reference: what the program drops, what a result refers to, and the arguments of a
// call that is answered (Registered, Drop, HoldResult, Retain).
//
// The files: object.go is one object and what others may read of it, effects.go
// what the session does. value.go has the events of a value, watch.go and
// waitid.go who waits for it, errorvalue.go and unrecoverable.go how it fails.
// table.go has who holds an object, drops.go and refbatch.go what the program
// lets go of, attachments.go what goes with an object, and release.go all that
// follows when nobody holds it. borrow.go, registration.go and confirmations.go
// are what processes tell each other, reftable.go and inside.go the references
// inside a value. recipe.go, lineage.go and verifycopy.go say how a lost object is
// computed again. snapshot.go, facts.go and move.go are how another process takes
// a table over, index.go and borrowed.go how an object is found.
package refs
