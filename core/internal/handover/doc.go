// Package handover is the conversation of a worker with its successor. When a worker
// ends on purpose while others need what it owns, everything that it owns and owes
// moves to a successor in the daemon's process. The successor continues in the
// worker's place.
//
// # What it has
//
// Snapshot is the document: the snapshots of the reference table (package refs) and of the
// submitting half (package submit), each with a version of its own, and what the session
// has of connections. Encode and Decode turn it into bytes and back. Decode trusts nothing,
// because a worker's memory may be corrupt and the successor lives in the daemon's
// process: it bounds every list, compares the versions before it decodes anything else,
// and validates the whole document. Nothing of a refused document has been restored.
//
// # The conversation
//
// The worker has a connection to the successor, through the daemon (exchange.go):
//
//	successor: Announce   one byte, the version of the snapshots that it reads
//	worker:    AwaitVersion compares it. With another version the worker closes the
//	                      connection and stays, and nothing has changed.
//	worker:    Send       stops, and sends the snapshot and the descriptors
//	successor: Receive    restores them, and
//	           Confirm    says with one more byte that it has taken over
//	worker:    Send       returns, and the process may end
//
// After Send has begun the worker cannot go back: its sockets belong to the successor.
//
// # What it does not do
//
// The package starts no goroutine and has no lock. The session decides how a worker stops,
// and how a session is made from a snapshot: see move.go and successor.go in
// core/internal/client.
package handover
