// Package refs is the reference table of one process: the objects that it owns
// and those that it borrows, who holds each of them, what is known of their
// values, and who waits for them.
//
// It is a machine of events. A method of Table is an event: a reference was made,
// a value came, a borrower went. The table tells what follows in two ways. What
// concerns those who wait is an effect, which the session carries out in the
// middle of the event (Effects). What died, or was evicted, is kept until the
// session asks for it (Take, TakeEvicted, TakeUnused). The package has no lock,
// clock, socket or goroutine: core/client calls it under the session's mutex.
//
// An object lives while any of these is left: a local reference, a pin (a task
// that takes it as an argument, a value that contains it, a reply that was not
// yet received), a borrower. An owned object that dies frees its stored copy and
// lets go of what its value contains. A borrowed one is given back to its owner.
//
// The files: object.go is one object and what others may read of it, value.go
// the events of its value, watch.go and waitid.go who waits for it, table.go who
// holds it, recipe.go and lineage.go how it is computed again, facts.go and
// move.go how another process takes it over, index.go and borrowed.go how it is
// found.
package refs
