// Package handover is what a worker says to its successor. A worker that ends on
// purpose while others need what it owns moves out of its process: everything that it
// owes goes to a successor in the daemon's process, which goes on in its place.
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
// The package starts no goroutine and has no lock. How a worker stops, and how a session is
// made from a snapshot, is the session's: move.go and successor.go in core/internal/client.
package handover
