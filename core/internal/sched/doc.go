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
//     (match.go, pool.go).
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
// worker for these devices is started while the first one is in use. A worker that has
// run work without devices is never given any devices.
//
// # Amounts and bounds
//
// The ledger (core/internal/resource) counts in units of 1/10000. CPU, memory and custom resources
// are amounts. Accelerators are devices: a whole request gets whole devices, and a
// fraction gets a part of the fullest device that has room, the lowest of equals.
//
// Holders are asked for leases back after 5 ms of waiting. A want claims after 200 ms, for
// up to a second. Classes that need less than 0.05 CPU have at most 256 leases at a time.
// A job keeps one idle worker per CPU for 60 s, and further ones for a second. At most
// twice as many workers as there are CPUs start at a time. When three workers of an
// environment in a row fail to start, everything that waits for the environment fails, and
// the error quotes what the process wrote last.
//
// A class or an actor that exceeds the totals fails at once, unless the cluster may wait
// for it (Options.WaitForFit). If a class lists alternatives, choice.go decides which of
// them a want may take, and when.
//
// A pool whose workers are used up (tasks that end their worker, actors that are made in a
// row, deaths in the middle of work) keeps one or two new workers more than are wanted,
// for 2 to 10 s (spare.go).
//
// # Several nodes
//
// With Options.Cluster there may be other nodes. Wants that have waited for 5 ms, and wants that this node can never
// give, overflow: the head is told of them, and offers leases of other nodes, which count as granted (overflow.go). What no node can
// give, the head calls infeasible. A process of another node gets what fits at once and is refused the rest
// (guests.go). For some classes the head decides also where this node has room (where.go). Without that option no decision is
// different, but that a class fails which must run on another node.
//
// # Labels
//
// A class or an actor may ask for labels of its node (where.go: rank). If this node does not have them, nothing of it is served here. If another node may have better ones,
// the head decides.
//
// # Placement groups
//
// Parts of the node are set aside for bundles of placement groups (bundles.go). Work in a group takes what it needs of a bundle, and waits without a word while
// there is none (groups.go).
//
// # Invariants
//
// The property test holds these:
//
//   - what is held and what is free add up to the totals of every resource and every
//     device, except for the CPUs of blocked workers;
//   - nothing is granted while it does not fit; only unblocking may make the number of
//     free CPUs negative;
//   - nothing is granted to what asks for labels that the node does not have;
//   - a worker serves one job, and one lease or actor at a time;
//   - whatever a worker serves after its first lease has the same devices;
//   - no want stays unserved while its resources and an idle worker are free, unless
//     another want claims them;
//   - what is held in a bundle and free there adds up to what was set aside; nothing is used for long of a bundle that was dropped;
//   - in a cluster, no want of a guest waits for resources, a ticket is settled once, and the head knows how
//     much overflows.
package sched
