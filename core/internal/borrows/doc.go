// Package borrows carries what processes say to each other about references: a
// reference's owner, those who borrow it, and callers and workers whose calls and
// results have references inside.
//
// Package refs decides which messages are sent, and what follows from the messages
// that arrive. This package sends and receives them, on the control connections of
// package transport.
//
//   - To owners: this process holds references to their objects (RefBorrow), holds them no
//     longer (RefReturn), wants the value of an object (RefWait), or wants values to be freed
//     (RefFree).
//   - To workers: the message that the references inside an answer are registered (Received),
//     and the question whether the worker has registered what it keeps of its arguments
//     (Registered).
//   - To callers whose task socket broke: the question whether they still read answers from
//     that socket, or have not registered what they got (AnswersRead).
//   - From borrowers, callers and workers: the same messages (Hear), and the end of their
//     connection (Left).
//
// A process that cannot be connected to now, but may live, is no process that has ended: what is said to it
// waits until it can be connected to (package transport).
//
// # Order
//
// A link sends its messages in order: otherwise a reference that was given back and then
// borrowed again could seem given back. Nothing is given back while a registration has no
// answer yet. So when the answer to a registration arrives, the references that the
// program has dropped meanwhile are handled (Session.TakeDrops).
//
// # Locks and goroutines
//
// The session gives its mutex to Init. Methods are called with it held, unless their
// comment says otherwise, and only AwaitRegistered waits, with the mutex released.
// Answers come on goroutines of the connections, and take the mutex. After End they
// change nothing. This package starts no goroutines except those of its timers.
package borrows
