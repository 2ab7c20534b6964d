// Package sched decides, for one node, who gets a worker and when. It knows the
// scheduling classes and how many leases of each are wanted, the leases, the pools of
// workers, the actors that are to be placed, and the ledger of resources behind them.
//
// # A pure machine
//
// Events come in as methods (a want, a returned lease, a worker that is ready or gone).
// Actions come out of Actions (start a worker, grant, recall, …). The machine has no
// clock: Advance tells it the time, and Next says when it has to be told again. It starts
// no goroutine, opens nothing, draws no random numbers and depends on no map order, so the
// same events give the same actions. The daemon owns the machine of its node and calls it
// under the daemon's lock.
//
// # The stages of a want
//
//  1. When the resources of a want are free, they are taken, and the want becomes a
//     reservation in the pool of its job and environment (reserve.go).
//  2. A reservation takes the pool's next idle worker, in order. For reservations that
//     find none the machine orders workers to be started, a limited number at a time
//     (pool.go).
//  3. With the worker, the reservation becomes a lease, or the worker becomes the actor.
//
// Jobs take turns; within a job its clients do; within a client its classes do, in the
// order in which they began to wait.
//
// # Recalls, claims, devices
//
// While a want waits, leases are recalled from holders that keep more than the want's own
// side has (recall.go). A want that needs much and gets nothing for a while claims what
// comes back (claim.go). A worker whose task is blocked lends its CPU, and takes the CPU
// back at once when the task goes on, even if more CPUs are in use then than there are.
//
// A worker that has seen a device serves only leases of the same devices, and the next
// worker is started while that one is in use. A worker that has run work without devices
// is never given any devices.
//
// # Invariants
//
// The property test holds these:
//
//   - what is held and what is free add up to the totals of every resource and every
//     device, except for the CPUs of blocked workers;
//   - nothing is granted while it does not fit; only unblocking may make the number of
//     free CPUs negative;
//   - a worker serves one job, and one lease or actor at a time;
//   - whatever a worker serves after its first lease has the same devices;
//   - no want stays unserved while its resources and an idle worker are free, unless
//     another want claims them.
package sched
