// Package raftstate is the cluster's replicated state: a deterministic state
// machine behind hashicorp/raft. It remembers nodes, jobs, actors and their
// names, internal key-value pairs and settings; the records themselves are
// those of core/record.
//
// # Layers
//
//	Node     raft, retries, forwarding to the leader, typed methods   (node, propose, lead, client)
//	fsm      the adapter: locks, decoding, the ring of events         (fsm, ring)
//	Machine  commands in, results and events out                      (machine, actors, nodes, jobs, values, dedup)
//
// # The machine
//
// Machine knows no clock, no randomness, no I/O, no goroutine, and never walks
// a map where the order could show: times and ids come with the command. The
// same commands give the same state, the same results, the same events and the
// same snapshot bytes on every member. A refused command (the name is taken,
// the incarnation is old) is a result like any other.
//
// A record in the machine never changes: a change stores a new one. Reads hand
// records out without copying their maps and bytes; a snapshot is a copy of
// the maps of pointers, written while later commands are applied.
//
// # Commands
//
// A command is a msgpack array: version, kind, client, sequence, body. The
// pair of client and sequence makes a retry apply once: the machine keeps the
// results of the last keptResults commands (loneKeptResults), and refuses as expired what is
// older than that for its client. Bodies are msgpack maps, so that a field can
// be added. A member that meets a kind or version that it does not know stops
// (Node.Err says why) rather than go a way of its own; with several heads, new
// kinds are proposed only when the oldest member knows them.
//
// A command is at most MaxCommandBytes. What is larger, the class of a detached
// actor, comes in parts of MaxCodePart bytes. Content-addressed blobs, which keep
// values over 64 KiB out of the log, come with several heads.
//
// # Events
//
// Every change makes events, numbered without gaps. Watch is a long poll from
// a cursor: there is no watcher object, and nothing to close. The last
// Options.KeptEvents are kept; who is later than that, or watches a member that
// was restored from a snapshot, gets record.ErrCompacted, reads the state anew
// and goes on from Now.
//
// # Goroutines
//
// raft's own, and one per Node that follows the leadership. A Propose whose
// context can end runs its wait in a goroutine that ends with the commit.
// Close waits for all of them.
//
// # What a caller may rely on
//
// When Apply returns without an error the command is committed and this
// member's reads show it, on a follower too. record.ErrMayHaveBeenApplied means
// what it says; retrying the same Command (with the Request that Apply filled
// in) is safe. Reads on a follower, and on a leader that does not yet know that
// it was replaced, may lag.
package raftstate
