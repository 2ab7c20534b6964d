// Package daemon is the node role: the process that every driver and worker of
// a machine talks to. It owns the connections, the leases (through package
// sched), the worker pool, the object store (package objects) and the actors that
// run here. Package workers starts, watches and ends the processes. docs/protocol.md
// is its contract.
//
// # State
//
// One mutex, Daemon.mu, guards the scheduler, the object store and all tables
// of clients, workers, jobs and actors. A message is handled on its
// connection's reader goroutine: take the lock, change tables, give the
// scheduler its event, carry out the actions that it orders, answer. Nothing
// under the lock blocks: sending appends to a buffer (wire.Peer), forks are
// handed to the zygote's goroutine, reports to the head are queued there.
// Requests to the head, which may wait for a commit, run on a queue per
// process, in order, without the lock.
//
// # Goroutines
//
// One accepts; each connection has the peer's two; package workers and the object
// store have those that their doc.go names; the timer of the scheduler. Close ends
// them all.
//
// # Life and death
//
// A process is gone when its pidfd fires or its connection closes, whichever
// comes first. A worker's end is told when its exit status is known, at most
// statusWait after the pidfd. What a worker leaves (process group, orphans of
// its session) is killed, for this process is the child subreaper.
// Close kills every descendant and removes the session directory. When the
// daemon itself is killed, zygotes and workers end because their sockets
// close.
//
// A worker that ends while it is needed hands over to an heir, a client of this
// daemon in its own process (Options.Inherit); heir.go puts it in its place.
//
// # Invariants
//
//   - A worker's devices are free only after its process has ended, unless it
//     went back to the pool.
//   - Whatever a process held (leases, wants, pins, rooms it writes, objects it
//     owns) goes with it.
//   - Nothing read from a socket or pipe is kept without a cap.
//   - A process that does not read cannot hold up another one.
package daemon
