// Package access has the operations of a program on objects: put, get and wait, reading generators, importing and
// exporting references, and dropping objects.
//
// Objects has these methods, and a session embeds it. Objects owns nothing but the queue of asynchronous waits that have
// ended: the reference table, the object store and the poller belong to the session, which gives them to Objects.
//
// # Waiting
//
// A wait for many objects writes its id on each of them (core/internal/refs, waitid.go). A wait runs the program's
// signal handlers when a signal arrives. In a worker, a wait that takes long lends the CPUs of its task to others
// (AwaitBlocked).
//
// Event loops must not block. They are told through an eventfd (AsyncFD), which rings when an object that is watched
// has become ready. A value that lies in the store is mapped before the event loop is told of it (eventfetch.go).
//
// # Locks and goroutines
//
// The methods that a program calls take the session's mutex and release it while they wait. The methods that say "the
// mutex is held" are called by the session's other parts. A goroutine runs for each stored value that an event loop waits
// for, until the value is mapped.
package access
