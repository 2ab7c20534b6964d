// Package client is the core inside a driver, a worker and a Go service, and in
// the daemon the heir of a worker that has ended: it submits tasks and actor
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
// The submitting half stands for itself: submitter in submitter.go holds templates,
// scheduling classes, leases, channels (outConn) and the calls without an answer. Its
// methods are events, which are called with Client.mu held. They neither lock, block nor
// start a goroutine. What they need they ask of the session through submitEffects:
// the daemon, other processes, timers, and the socket of a channel (pipe). Methods of
// Client lock, wait, and call these events. The model test in submitmodel_test.go plays
// the session with neither processes nor sockets nor a clock.
//
// # Moving
//
// A worker that ends while it is needed hands everything over to an heir, in
// the daemon's process, and the open connections with it: linger.go says when,
// move.go stops and writes down, will.go is what is written, inherit.go goes on.
//
// # Invariants
//
//   - Client.mu guards everything here and in the poller. It is never held while
//     waiting for anybody.
//   - No Go code here calls Python, or needs the interpreter's lock.
//   - A process tells nobody that it let something go (a reply, a returned
//     reference) while a registration of its own is unacknowledged.
package client
