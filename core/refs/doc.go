// Package refs is the reference table of one process: the objects that it owns
// and those that it borrows, who holds each of them, and what is known of
// their values.
//
// It is a pure machine: events in (a reference was made, a value came, a
// borrower went), actions out (what to free, whom to tell). It has no lock,
// clock, socket or goroutine; core/client calls it under its own lock and
// carries the actions out.
//
// An object lives while any of these is left: a local reference, a pin (a
// task that takes it as argument, a value that contains it, a reply not yet
// received), a borrower. An owned object that dies frees its stored copy and
// lets go of what its value contains; a borrowed one is given back to its owner.
package refs
