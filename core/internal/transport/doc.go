// Package transport connects one process to others. It reads and writes the task
// sockets and decides which thread does so (Poller, Conn), lets other processes
// in (Listener), keeps the control connections that they open (Served) and those
// that this process opens (Links).
//
// # Addresses
//
// An address is the id of the process's owner in hex (wire.AddressOf). Only a Dialer knows
// where it leads: UnixDialer makes the path of the process's socket of it, once for each
// connection, or has the daemon make a pipe to a process of another node. All other code passes
// addresses on unchanged. A Listener is told the path.
//
// # Who reads
//
// All task sockets of a process are on one epoll descriptor. A thread that has
// to wait calls Poller.Await and becomes the leader if there is none: it sends
// what has collected, sleeps until a socket has something, reads, and gives
// what it read to the sockets' handlers, until its own wait is over. Other
// threads that wait are followers: each sleeps in its wait.Wait, and one of
// them is promoted when the leader leaves. When no thread has led for a
// millisecond and answers are still expected, the background poller reads.
//
// # Looking before sleeping
//
// With at most one call under way the leader looks at its sockets for a while before it
// sleeps (spin.go), unless recent looks found nothing. It looks for 50 to 500 µs: as
// long as two wake-ups take on this machine, which callers measure and tell their workers
// (wakeup.go). Calls to processes of other nodes do not count here: their connections are marked
// (Conn.MarkFar) and not measured, and a wait for nothing else sleeps at once.
//
// # The background poller
//
// In a Python process it waits on a thread that C has made, and enters Go for one turn
// at a time (background.go, pybind/hot/background.c). In a Go program it is a goroutine.
// When it has nothing to do it sleeps until the next call begins. Because of it, results
// arrive also in a driver that never calls get.
//
// # Full sockets
//
// A full socket never blocks a caller. What does not fit stays queued until the socket is
// writable, and whoever polls reads meanwhile.
//
// # A process that cannot be connected to
//
// A link tries again until it is open or the process has ended (opening.go). Only a refused connection and
// a missing socket mean that the process has ended (Ended). The failure of a task connection is told
// at once: who wanted it asks the daemon what became of the process.
//
// # The lock
//
// The package has no lock of its own. It gets the session's mutex, which guards
// everything here except the read buffers of connections: these belong to the
// leader. The mutex is released in four places only: while the leader sleeps in
// epoll, while it reads a socket, while a follower sleeps, and while answers
// are left to collect. Every method expects the mutex to be held, unless its
// comment says otherwise; handlers and the Host are called with the mutex held.
//
// # Goroutines
//
// The package runs these goroutines: one for each link while the link is being opened or has
// messages to send; two for the wire.Peer of each link and of each process that is served;
// one that accepts connections, and one for each connection that has not sent its Hello yet;
// and the background poller of a program that lends no thread (background.go).
//
// # Invariants
//
//   - At most one thread leads.
//   - Only the leader closes descriptors, or, while there is no leader, any thread.
//     So no thread can be reading a descriptor that is closed.
//   - What is queued on a connection is sent in order. Queued bytes leave at the
//     latest when the leader polls or at the next turn of the background poller.
//   - A link sends requests in the order in which they were made.
package transport
