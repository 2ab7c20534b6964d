// Package sched decides, for one node, who gets a worker and when: scheduling
// classes and their wants, leases, the worker pool, the placing of actors, and
// the ledger of resources behind them.
//
// It is a pure machine. Events go in by methods (a want, a returned lease, a
// worker that is ready or gone), actions come out of Actions (start a worker,
// grant, recall, …). It has no clock: time comes in by Advance, and Next says
// when it wants to be told again. It starts no goroutine, opens nothing, draws
// no random numbers and depends on no map order: the same events give the same
// actions. The daemon owns the one machine of its node and calls it under its
// own lock.
//
// A want passes through these stages. When its resources are free they are
// taken and it becomes a reservation in the pool of its job and environment.
// A reservation takes the pool's next idle worker, in order; for reservations
// without one the machine orders workers to be started, a limited number at a
// time. With the worker the reservation becomes a lease, or the worker becomes
// the actor. Jobs take turns, within a job its clients, within a client its
// classes in the order in which they began to wait.
//
// A want that waits has leases recalled from holders that keep more than it has
// (recall.go). One that needs much and gets nothing claims what comes back
// (claim.go). A worker whose task is blocked lends its CPU and takes it back at
// once, over-subscribing. A worker that has seen a device serves only leases of
// the same devices, and the next one is started while it is in use. A worker that
// has run work without devices is never given any.
//
// Invariants, held by the property test:
//   - what is held and what is free add up to the totals for every resource
//     and every device, the CPU of blocked workers excepted;
//   - nothing is granted while it does not fit; only unblocking may make the
//     free CPU negative;
//   - a worker serves one job, and one lease or actor at a time;
//   - whatever a worker serves after its first lease has the same devices;
//   - no want stays unserved while its resources and an idle worker are free,
//     unless another one claims them.
package sched
