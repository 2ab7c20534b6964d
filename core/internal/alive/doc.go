// Package alive decides which nodes of a cluster live. It has two pure machines: Heads belongs to the head that leads, and
// Node to a daemon. Events are methods, and what is to be done follows in Actions. All times are boot times
// (CLOCK_BOOTTIME) of the machine's own host, which the caller hands in; the clocks of two hosts need not show the same.
//
// # Heartbeats
//
// A node sends a numbered heartbeat every Timing.Every. The head collects those that came, has a round of raft
// committed (Propose), and acknowledges each heartbeat when a round is committed that was proposed after the heartbeat came. There
// is at most one round under way, and at most one per Timing.Every for all nodes together. Without nodes there are no rounds.
//
// With an acknowledgement a node knows that the cluster counts it among the living until Timing.Dead after it has *sent*
// the heartbeat (ValidUntil). A head that was replaced commits nothing, so it acknowledges nothing: the commit is before the next
// leadership, and what a later head promises counts from its beginning.
//
// # Death
//
// A node is unreachable after a silence of Timing.Unreachable, and dead after Timing.Dead. When at least three nodes, and more
// than a quarter of all, are silent at once, they are dead after Timing.Many. A node is dead at once when there is proof:
// its warden has said that nothing of it is left (Obituary), or the node has said goodbye. Dead is said once for a node. The
// node stays dead; when it is heard again, it is told so (TellDead), and returns under a new number.
//
// What an exclusive actor needs follows later: MayRestart comes Timing.Fence after the last heartbeat, or at once with proof. By then
// the node's own promise has ended, also if the two clocks drift by 16 % against each other. The state knows which nodes are dead
// without proof. A new head waits for Timing.Fence from its beginning on for these, too, because it does not know what they were promised.
//
// # The head's own pauses
//
// A head that was stopped, or whose machine was too busy, has heard nobody, which says nothing about the nodes. So silence is counted
// in the time that the head has listened. A time between two calls of Advance counts as longestGap at most. After such a
// pause no node dies before the head has listened for afterPause more: by then it has read what had come meanwhile.
// The caller calls Advance at NextTime at the latest, and hands in what has come before it calls Advance.
//
// # Invariants
//
// The simulation (sim_test.go) holds these over messages that are lost, late and doubled, clocks that drift, and pauses of nodes and heads:
//
//   - no node is declared dead without proof before the head has listened to its silence for Timing.Dead;
//   - a node that is silent for that long is declared dead, whatever else arrives;
//   - no heartbeat is acknowledged without a commit that was proposed after it came;
//   - when MayRestart is said, the node's promise has ended and is never given again;
//   - an exclusive actor whose worker looks at the promise before each call, and that follows MayRestart to the next node, never
//     executes a call after a later incarnation of it has executed one;
//   - a node that is heard again after its death is told so, and its number never lives again;
//   - when the faults end, every node that is left is acknowledged.
//
// The files: timing.go has the times, action.go what comes out. heads.go is the head's machine, rounds.go its commits, silence.go its
// judgement, and node.go the daemon's machine. There are no goroutines, locks, clocks or random numbers.
package alive
