// Package client is the core inside a driver, a worker and a Go service, and in
// the daemon the successor of a worker that has ended: it submits tasks and actor
// calls, owns their results, waits for them, and in a worker receives and
// answers calls.
//
// # Who runs
//
// The thread that waits does the I/O, see package transport. All task sockets of
// the process are on its poller: those that the process calls through (submit.Channel)
// and those that it is called through (execute.Caller). Both are handlers of what
// arrives on their connection. What the poller has to know of the session it
// asks through the methods in host.go.
//
// Control traffic has sockets and goroutines of its own (wire.Peer): one to the
// daemon, one to the daemon of each node whose guest the process is (package guests, homes.go), one to each process whose references we hold or whose tasks we cancel. What is said
// about references is the business of package borrows.
//
// # Submitting
//
// What a program calls, and how a call is given what it takes, is the business of package calls, whose Calls is a part of
// the Client. What becomes of a call is the business of package submit, whose events are called with
// Client.mu held. host_submit.go has what it asks of the session: the daemon, other
// processes, timers, and the socket of a channel.
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
// A value whose envelope has at most 100 KiB lies in its owner's memory and travels
// inside messages, and a larger one lies in the store. When the values of one message
// have more than 4 MiB together, all but the tiny ones go through the store
// (core/internal/submit/arguments.go). localstore keeps what is mapped, and nodestore asks the daemon
// for it and waits. An exception that is large lies in the
// store as well: whatever fails because of it points to it and keeps it alive. The
// exception of an actor's constructor is an object of the actor's creator
// (core/internal/actors/raised.go).
//
// # References that code and exceptions carry
//
// References that a function or a class captures are collected when it is pickled, and
// each of its tasks pins them. Workers keep the functions that they have run, and borrow
// what these have captured, until the process that the function comes from says that
// nobody can call it any more (core/internal/submit/retire.go). A function or class of more than 4 MiB is an
// object in the store, and a reference to that travels in its place. core/internal/actorclass says what
// becomes of it for a detached actor. References inside the exception of a run that is
// retried are given back before the next run begins (core/internal/submit/discard.go). References that a
// program pickles by its own hand stay until the session ends, because nobody can know
// when those bytes are gone.
//
// # Objects
//
// What a program does with objects, and the waits for them, is the business of package access, whose Objects is a part of
// the Client: its methods are the Client's.
//
// # Lost objects
//
// A reader finds out that an object is lost when it pins the object: a get in the owner,
// or in a borrower, which then asks the owner, or a worker that was to begin a task. The
// worker gives the task back to its caller. An actor's call is deferred instead, because
// the caller's later calls must not overtake it (core/internal/callargs). core/internal/refs decides what to do, and
// core/internal/submit/recompute.go runs the task again that returned the object. The task's worker writes only
// the results that are lost. core/internal/submit/lineage.go says which tasks are kept for that.
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
