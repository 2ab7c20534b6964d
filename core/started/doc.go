// Package started is the page on which an actor's worker says which calls it
// has begun, so that after its death the calls that never began can be sent to
// the next incarnation without counting as tried.
//
// The daemon makes a page for each incarnation of an actor that may restart,
// maps it for reading, and hands its descriptor to the worker. The worker keeps
// a slot on it for each connection of a caller, and stores the number of the
// latest call there before it runs it: one store to memory, no system call.
// When the process is gone the daemon reads the page.
//
// The worker may have been killed between any two stores, and may have written
// anywhere with a wild pointer before it died. Each number is one 64-bit word,
// half of it a check; a slot's owner is checked, and so is the number of slots. What does not
// check out tells nothing, and neither does a page that ran out of slots: then
// every call counts as started. A number is never believed too low.
//
// The package imports ids and starts no goroutine. A Writer is guarded by its
// user's lock; a Reader reads when nobody writes any more.
package started
