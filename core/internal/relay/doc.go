// Package relay carries connections between two nodes that do not reach each other, through the head, which both reach.
//
//	node A ══ stream of A's link ══ head ══ stream of B's link ══ node B
//
// A opens a stream to its head with the target that Target makes. The head answers in one message (Answer): it has opened a stream to B,
// or it refuses and says why. From then on it copies bytes in both directions, and looks at none of them. The two nodes speak their
// own protocol on that, with their own TLS, so the head cannot read or change what they say. Each of them proves who it is to the other one.
//
// # Who may ask
//
// The number of the node that asks comes from the link, that is from its certificate, so a node can ask for connections of its own only. The
// other node must be alive by the cluster's state.
//
// # Bounds
//
// Each direction of each stream has at most a window of the link (256 KiB) that is not read, and as much that is not sent, so the head keeps
// at most 1 MiB and two buffers of 16 KiB for a connection. When a node does not read, the head reads no more from the other one. A node has at most
// MostOfNode connections for sessions and MostBulkOfNode for much data; all nodes together have at most Most and MostBulk. What the
// head itself says to nodes goes over the control streams of its links, before the bytes of any stream.
//
// # Goroutines and locks
//
// Serve works on the goroutine of its caller and on another one, and returns when both ends are closed. The lock guards the counts.
package relay
