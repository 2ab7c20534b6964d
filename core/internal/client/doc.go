// Package client is the core inside a driver, a worker and a Go service. In the
// daemon it is the successor of a worker that has ended. It submits tasks and
// actor calls, owns their results, waits for them, and in a worker receives and
// answers calls.
//
// # Who runs
//
// The thread that waits does the I/O, see package transport. All task sockets of the
// process are on its poller: those through which the process calls others
// (submit.Channel) and those through which others call it (execute.Caller). Both
// handle what arrives on their connection. The poller asks through the methods in
// host.go what it has to know of the session.
//
// Control traffic has sockets and goroutines of its own (wire.Peer): one to the daemon, one
// to the daemon of each node whose guest this process is (package guests, homes.go), and one
// to each process whose references we hold or whose tasks we cancel. Package borrows sends
// and receives the messages about references.
//
// # Submitting
//
// Package calls has the calls that a program makes, and takes over their arguments; its Calls is a part of the Client.
// Package submit decides what happens to a call; its events are called with Client.mu held. host_submit.go has what
// package submit asks of the session: the daemon, other processes, timers, and the socket of a channel.
//
// # Running the calls of others
//
// Package executor is the half of a session that others call: its Executor is a part of the Client, and its methods are the
// Client's. In a process that is no worker it stays zero.
//
// # Successor
//
// A worker that ends while others need what it owns hands its state and its open
// connections over to a successor in the daemon's process. exiting.go decides when, move.go
// stops reading, capture.go writes the snapshot that core/internal/handover defines, and successor.go
// and restore.go build the successor from it.
//
// # Values
//
// A value whose envelope has at most 100 KiB lies in its owner's memory and travels inside messages,
// and a larger one lies in the store. When the values of one message have more than 4 MiB together,
// all but the tiny ones go through the store (core/internal/submit/arguments.go). Package localstore
// keeps what is mapped, and package nodestore asks the daemon for it and waits. A large exception
// lies in the store as well: each result that fails because of it points to the exception and keeps
// it alive. The exception of an actor's constructor is an object of the actor's creator
// (core/internal/actors/raised.go).
//
// # References that code and exceptions carry
//
// References that a function or a class captures are collected when it is pickled, and each of its tasks
// pins them. Workers keep the functions that they have run, and borrow what these have captured, until the
// process that the function comes from says that nobody can call it any more
// (core/internal/submit/retire.go). A function or class of more than 4 MiB is an object in the store, and a
// reference to that travels in its place. core/internal/actorclass says what happens to the class of a
// detached actor. References inside the exception of a run that is retried are given back before the next
// run begins (core/internal/submit/discard.go). References that a program pickles itself stay until the
// session ends, because nobody can know when those bytes are gone.
//
// # Objects
//
// Package access has what a program does with objects, and the waits for them. Its Objects is a part of the Client, so
// its methods are the Client's.
//
// # Lost objects
//
// A reader finds out that an object is lost when it pins the object. The reader is a get in the owner, a get in a
// borrower, which then asks the owner, or a worker that is about to begin a task. The worker gives the task back to
// its caller. An actor's call is deferred instead, because the caller's later calls must not overtake it
// (core/internal/callargs). core/internal/refs decides what to do, and core/internal/submit/recompute.go runs the
// task again that returned the object. The task's worker writes only the results that are lost.
// core/internal/submit/lineage.go says which tasks are kept for that.
//
// # Census
//
// Each object carries the number of the line that made it and of the function (core/internal/sites).
// The daemon asks every process for its part of a census (census.go).
//
// # Invariants
//
//   - Client.mu guards everything here and in the poller. No goroutine waits while it holds
//     the mutex, except in a process that is ending.
//   - No Go code here calls Python, or needs the interpreter's lock.
//   - A process gives no reference back while a registration of its own is unacknowledged. A
//     reply waits for registrations for at most 5 ms and then says that one is missing.
package client
