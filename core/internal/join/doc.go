// Package join brings a node into a cluster: it has both ends of what a new node and a head say to each other before the
// node has a certificate. Package pki proves that both know the token; this package asks for a number, decides, and signs.
//
// # What can be asked
//
// A process that knows the token may ask for four things:
//
//   - A new node asks for a number. The head commits that it has given the number away, so that nobody gets it again, also after
//     the head was started again. With TLS the node also gets a certificate with that number.
//   - A node whose certificate gets old asks for the next one, for the same number. A node that is dead gets none.
//   - The warden of a node says that the node has ended. It says so when no process of the node lives any more. The head then
//     commits that the node is dead.
//   - Somebody who looks after the cluster asks about its keys, or has them replaced (package trust).
//
// # Versions
//
// Both sides say which versions of the messages between nodes they understand, and each one refuses if they do not fit. The
// text names the releases of both.
//
// # Failures
//
// Client tries all addresses again until its time is over, because the head may be starting. It stops at once when a head
// has refused, has another token or another version: that does not change by itself.
//
// The package starts no goroutine and keeps nothing. Client opens sockets through package link; Server gets its connections from
// link.Config.Join.
package join
