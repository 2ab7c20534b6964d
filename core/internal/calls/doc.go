// Package calls has the operations by which a program calls functions and methods of actors. It also creates actors,
// opens handles of actors that other processes have passed on, and cancels tasks.
//
// Package submit decides what happens to a call. This package takes the lock, takes over the arguments of the call,
// writes large arguments to the object store, waits, and calls the events of package submit.
//
// Calls has these methods, and a session embeds it. It owns nothing: the reference table, the object store and the submitting
// half belong to the session.
//
// # Locks and goroutines
//
// The methods that a program calls take the session's mutex. They release it while a large argument is written to the store,
// while the daemon answers, and while a worker hears of a cancellation. A goroutine runs for each cancellation that another
// process asks for, and for each call whose children are cancelled, until the workers concerned have heard.
package calls
