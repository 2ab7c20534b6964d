// Package progress is what a process says on shared memory about the calls that
// it has begun, so that somebody knows after its death which of them never
// began. To say it is one store to memory, no system call.
//
// There are two kinds of pages. A LeasePage belongs to a caller, and has one
// word for each of its leases: the worker of a lease stores the number of the
// task there that it begins. The caller reads the word when the worker is lost.
// A page of an actor that may restart belongs to the daemon, which makes one for
// each incarnation: the worker has a slot there for each connection of a caller
// (Writer, Slot). The daemon reads the page (Reader) and tells the callers.
//
// The process may have been killed between any two stores, and may have written
// anywhere with a wild pointer before it died. So half of each 64-bit word is a
// check. In an actor's page a slot's owner is checked, too, and so is the number
// of slots. What does not check out tells nothing, and neither does an actor's
// page that ran out of slots: then every call counts as begun. A number is never
// believed too low.
//
// The package imports ids and starts no goroutine. The lock of its user guards a
// LeasePage and a Writer; a Reader reads when nobody writes any more.
package progress
