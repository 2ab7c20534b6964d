// Package daemon is the node role: the process that every driver and every worker of
// a machine talks to. It accepts their connections, passes their requests to the
// scheduler (package sched), the object store (package objects), the table of workers
// (package workers) and the head role, and it places and ends the actors that run here.
// docs/protocol.md describes its messages.
//
// # Files
//
// state.go has all tables and the types of their rows. events.go passes events to the
// scheduler, and orders.go carries out what the scheduler orders. The files named
// …requests.go serve one group of messages each; handle.go says which function serves
// which message. Above them are accept.go and daemon.go (Open, Serve, Close). A file
// calls only files below it. Where a call back up would be needed there is an interface
// (workers.Events, objects.Notify, pressure.Workers), or the field perform, through which
// events.go calls orders.go.
//
// # State
//
// One mutex, Daemon.mu, guards the scheduler, the object store and all tables
// of clients, workers, jobs and actors. A message is handled on the goroutine that reads
// its connection: the function takes the lock, changes tables, gives the
// scheduler its event, has the orders carried out, and answers. Nothing
// blocks while the lock is held: sending appends to a buffer (wire.Peer), forks are
// ordered by goroutines of their own, and reports to the head are queued by the head.
// Requests to the head may wait for a commit, or for a head that is far away. They run without
// the lock, in the order in which a process has sent them, in the queue of that process (package
// inquiry). A request that gets no answer fails; it is never answered as if there were nothing.
//
// # Goroutines
//
// One goroutine accepts connections. Each connection has the two of its wire.Peer, and a process
// with requests to the head has one while there are any. The packages workers, objects, pressure and joblogs
// have those that their doc.go names. Timers of the scheduler and of actors' backoff
// run on goroutines of their own. Close ends them all.
//
// # Life and death
//
// A process is gone when its pidfd says so or when its connection closes, whichever
// comes first. The end of a worker is reported when its exit status is known, or a
// moment after the pidfd became readable. The daemon kills the processes that a
// worker leaves (its process group, orphans of its session); it can find them
// because it is the child subreaper. Close kills every descendant and removes the
// session directory. When the daemon itself is killed, zygotes and workers end
// because their sockets close.
//
// A worker that ends while others need what it owns hands these things over to a
// successor, which is a client of this daemon in the daemon's own process
// (Options.Succeed, successor.go).
//
// # Guests
//
// A process of another node that wants leases of this one connects through a pipe (package pipes),
// and is a client here: a guest. It stands in owners, so that workers may write results for it. It
// has no process, no arena and no pidfd here, and may ask for leases only. When it leaves it loses
// its leases, and what it owns stays: its own daemon says when that goes. The job of a guest has a
// row without a driver, which goes with its last guest and worker, or with JobEnded (guest.go). What
// its workers write goes to the node of its driver (package joblogs).
//
// # Actors
//
// createActor registers an actor with the head, which calls PlaceActor when that is
// committed. The scheduler gives the actor a worker (actorPlaced), which gets ActorStart
// and answers ActorReady. A worker that owns what others need declines: it hands its
// objects over and ends, and the actor gets another worker as the same incarnation
// (replace).
//
// The worker of an actor that may restart notes on a page of shared memory which calls it
// begins (package progress). When the process is gone the daemon reads the page
// (package actorends), and callers whose connection broke are told which of their calls had
// begun (lostcall.go). The first restart is immediate. An actor whose worker keeps dying
// before its constructor has ended waits 50 ms before the next one, and twice as long each
// time, up to 10 s (restartbackoff.go). Every end of the process counts as a death,
// whatever its status, except for an end that the worker has announced.
//
// The cluster's state keeps the large class of a detached actor, since the actor may start
// when its creator has ended (code.go). All copies together have at most 1 GiB.
//
// A detached actor outlives its driver, and so does everything that it has submitted,
// through any chain of tasks and actors. Each worker knows by its leases and its actor
// whether its work comes from a detached actor. While a detached actor of a job lives or
// is being registered, only the driver leaves, and the job goes on (outlive.go).
//
// # Requests of faulty processes
//
// Who may write, free, release or stop something is checked in authority.go. A message
// that is refused is logged; of equal messages only some are logged (package complaints). A
// daemon without free descriptors accepts no process and starts none until it has free
// descriptors again (package fdlimit).
//
// # Invariants
//
//   - The devices of a worker are free only after its process has ended, or after it
//     went back to the pool.
//   - Whatever a process held (leases, wants, pins, objects that it writes, objects that it
//     owns) goes with it.
//   - Nothing that is read from a socket or a pipe is kept without a cap.
//   - A process that does not read cannot hold up another one.
package daemon
