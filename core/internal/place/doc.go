// Package place decides, for the whole cluster, which node gets work that another node has no room for. It belongs to
// the head. It knows the nodes, what each of them has and what of it is free, and what their processes want.
//
// # A pure machine
//
// Events come in as methods: a node reports its stock, a daemon says what a class wants, an offer was settled. Actions
// come out of Actions: offers, and words about wants that no node can ever meet. The machine has no clock: Advance
// tells it the time, and Next says when it has to be told again. It starts no goroutine, draws no random numbers and
// depends on no map order, so the same events give the same actions. Its user guards it by a lock.
//
// # The way of a want
//
//  1. A daemon has no room for leases of a class. It says how many are wanted (Want). That number is a level: each message replaces the one before.
//  2. The machine chooses a node, and offers leases there (Offer). The offer has a ticket. What it needs is debited from
//     what the node has free. The level goes down by the offer.
//  3. The process asks the node's daemon for the leases and shows the ticket. That daemon grants what fits and refuses the
//     rest, at once. It says so with its new stock (Settled). Or the process has no use for the offer any more, and its
//     own daemon says so.
//  4. The debit ends: the node's stock says now what is free. If leases were refused, the process still wants
//     them, so its own daemon has no room for them again, and step 1 follows.
//
// A node decides about its own resources. What the machine knows of them is late. So an offer is a proposal, and nothing
// breaks when one is refused, or lost with its connection. A ticket that nobody settles expires after TicketFor.
//
// # Levels and offers that cross
//
// A level may have been written before an offer had arrived. So it says how many leases were offered to the class as
// far as its sender knows, and the machine subtracts what it has offered since. When a node connects anew, the
// machine forgets what the node wanted, and the node says everything again.
//
// # Who comes first, and where
//
// Jobs take turns; within a job its processes do; within a process its classes do, the one that has waited longest
// first. A want gets the first choice that fits anywhere. Which of the nodes with room it gets depends on its strategy:
// choose.go has the rules. A node gets its own wants back only if it has left the choice to this machine (Want.Home). A node that has refused a need, although its stock seemed to
// have room, is left alone with that need for RefusedPause.
//
// What has got nothing for RecallAfter, although some node could give it, is offered leases that are to be recalled: recall.go.
//
// # Costs
//
// Wants with the same need share a list of the nodes that may have room. A node leaves the list when the need does not fit
// it, and comes back when more of it is free. So a want that fits nowhere costs next to nothing
// until something is freed.
//
// # Actors
//
// An actor is placed as soon as it is known (PlaceActor). A node with room gets it, the node of its creator first while less than PackTo
// of that is used, and what it needs is debited there (StartActor). If no node has room, it waits with the node that has the fewest
// waiting actors for its size, because there leases are recalled for it and its job has turns. When another node has room meanwhile, the actor is
// withdrawn (WithdrawActor): the node refuses it (ActorRefused), and it goes where there is room. So two nodes never start one
// incarnation. An actor that no connected node could ever take stays here, and is infeasible when all nodes were heard.
//
// # Placement groups
//
// A group gets nodes for all of its bundles or for none: groups.go has the order of the steps, grouprecall.go what happens when no node has room. What is said of
// bundles that are open comes with the stocks of the nodes, so work in a group is placed as all other work.
//
// # Nodes that leave
//
// A node that is drained (Drain) gets nothing any more, as one that is in doubt. What its processes want is served elsewhere, and actors that wait there are refused by the
// node and go where there is room.
//
// # Labels
//
// A want or an actor may ask for labels of its node: labels.go. They rule nodes out, and put others first.
//
// # Invariants
//
// The random world of the tests holds these:
//
//   - what is offered and not settled fits into what the node has reported as free;
//   - a ticket is settled or expires, once;
//   - no offer goes to a node that is gone, not connected or in doubt, to one that the want's strategy or its labels exclude, or unasked to the node that the want is from;
//   - what is offered of a class never exceeds its level;
//   - no node is offered while one with better labels has room, as far as is known;
//   - when all is settled, no want stays that fits a node;
//   - no bundle of a group is asked of two nodes that were not told to drop it, nothing is taken back that may be committed, and no group waits for which there is room.
package place
