// Package guests has the connections of a process to the daemons of other nodes, whose guest it is.
//
// A process is a guest of another node's daemon as long as it may have leases of that daemon: it says the same
// messages there that it says to its own daemon, and hears the same. The connection is a pipe: the own
// daemon passes it on, see package pipes.
//
// # How a process becomes a guest
//
// Push names a node, and opens the connection if there is none. What is said meanwhile waits, and is
// sent in order once the daemon has answered the hello. A connection that cannot be opened is told a little
// later: if it were told at once, an offer of a node that cannot be reached would come back at once, and so on.
//
// When a connection ends, or cannot be opened, Host.HomeLost is called, once. A pipe ends only if the other node
// is dead, so the leases of that node have ended. A later Push opens a new connection. What the
// old one has read and not handled yet is told apart by Current.
//
// The time that the daemon needs for an answer says how far away it is (RoundTrip). The hello is measured, and a question right
// behind it, because the two nodes may have had to connect for the hello.
//
// # Handing over
//
// A worker that ends hands its connections over to its successor, as they are: handover.go.
//
// # Locks and goroutines
//
// The session gives its mutex to New, and methods are called with it held. Each connection has the two
// goroutines of a wire.Peer, and one that opens it. On one machine there is none, and each method ends at a nil map.
package guests
