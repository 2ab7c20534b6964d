// Package client is the core inside a driver, a worker and a Go service, and in
// the daemon the successor of a worker that has ended: it submits tasks and actor
// calls, owns their results, waits for them, and in a worker receives and
// answers calls.
//
// # Who runs
//
// The thread that waits does the I/O, see package transport. All task sockets of
// the process are on its poller: those that the process calls through (outConn)
// and those that it is called through (execute.Caller). Both are handlers of what
// arrives on their connection. What the poller has to know of the session it
// asks through the methods in host.go.
//
// Control traffic has sockets and goroutines of its own (wire.Peer): one to the
// daemon, one to each process whose references we hold or whose tasks we cancel.
//
// # Submitting
//
// Submitting is a part of its own, which uses nothing else of the client: submitter in
// submitter.go holds templates, scheduling classes, leases, channels (outConn) and the calls without an answer. Its
// methods are events, which are called with Client.mu held. They neither lock, block nor
// start a goroutine. What they need they ask of the session through submitEffects:
// the daemon, other processes, timers, and the socket of a channel (pipe). Methods of
// Client lock, wait, and call these events. The model test in submitmodel_test.go plays
// the session with neither processes nor sockets nor a clock.
//
// # Successor
//
// A worker that ends while others need what it owns hands its state and its open
// connections over to a successor in the daemon's process. linger.go decides when, move.go
// stops reading, inventory.go writes the document that will.go defines, probate.go checks
// it, and inherit.go and restore.go build the successor from it.
//
// # Invariants
//
//   - Client.mu guards everything here and in the poller. No goroutine waits while it holds
//     the mutex, except in a process that is ending.
//   - No Go code here calls Python, or needs the interpreter's lock.
//   - A process gives no reference back while a registration of its own is unacknowledged. A
//     reply waits for registrations for at most 5 ms and then says that one is missing.
package client
