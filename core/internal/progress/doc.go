// Package progress lets a process note in shared memory which calls it has begun. After the
// death of the process, others can read which calls never began. A note is one store to
// memory and no system call.
//
// There are two kinds of pages. A LeasePage belongs to a caller, and has one
// word for each of its leases: the worker of a lease stores in it the number of each
// task that it begins. The caller reads the word when the worker is lost. For a caller of
// another node the workers' daemon keeps the page (GuestPage), reads it and tells the caller.
// A page of an actor that may restart belongs to the daemon, which makes one for
// each incarnation: the worker has a slot there for each connection of a caller
// (Writer, Slot). The daemon reads the page (Reader) and tells the callers.
//
// The process may have been killed between any two stores, and may have written anywhere
// with a wild pointer before it died. So half of each 64-bit word is a check value. In an
// actor's page a slot's owner and the number of slots are checked, too. If a check fails,
// or an actor's page had no free slot, every call counts as begun. So no call that has
// begun is ever taken for one that has not.
//
// The package imports ids and starts no goroutine. The lock of its user guards a
// LeasePage, a GuestPage and a Writer; a Reader reads when nobody writes any more.
package progress
