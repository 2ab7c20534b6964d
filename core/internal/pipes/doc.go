// Package pipes joins processes of different nodes. A pipe is a connection between two processes
// that both see an ordinary Unix socket:
//
//	caller ── d.sock of its node ── Near ══ stream between the nodes ══ Far ── the target's socket
//
// The caller connects to its own daemon, says Hello{Role: reach, OwnerID: target}, and sends right
// behind it the hello that the target is to read. Near takes the connection from there. It reads
// that second hello, opens a stream to the target's node and sends the hello on. On the other node
// Far reads the hello, connects to the target's socket and says the hello there. From then on both
// ends copy bytes and look at none of them. If the target is the daemon itself, the process becomes
// a guest of that daemon: Here.Guest takes the stream over, and the daemon speaks on it.
//
// Both processes speak the protocol of package wire in the same version. While a cluster is upgraded there are nodes with different ones: Options.Talks says so, and
// no pipe is opened between them. The head brings no work there that would need one (package place).
//
// The package does not know how nodes are connected. Network opens streams, and whoever has
// accepted a stream gives it to Far.
//
// A caller sends the worker of a lease a page on which the worker notes the tasks that it begins (package progress). No
// descriptor goes through a pipe. So the daemon of the worker keeps the page of each guest, Far sends it along with the
// hello of a lease, and the daemon tells the guest what the page says when the worker has ended.
//
// # When a pipe ends
//
// A process takes the end of a connection as proof that the process at the other end is dead: an
// owner then forgets what that process borrowed, and a caller runs its tasks elsewhere. So a pipe
// ends only for these reasons:
//
//   - One of the two processes has closed its socket, or has ended. What it wrote before arrives first.
//   - The daemon of one of them says that the process is gone (Pipes.Left). What the process wrote
//     before arrives first, also if a child that it forked keeps the socket open.
//   - The target has ended before it took the connection. While it lives and takes no connection, or the
//     page of begun tasks cannot be sent along, Far tries again.
//   - The Network ends the stream, or opens none. It does that only if the other node is dead.
//   - The hello is no hello, comes too late (wire.HelloTimeout, measured by the caller's own node),
//     is too long (wire.MaxHandshake), or names a process that the sender cannot be. This is a fault
//     of the process that said it, and is logged.
//   - The daemon ends (Pipes.Close).
//
// There is no time limit on anything else, and no limit of the bytes that wait: when a process does
// not read, its end reads no more from the stream, and the stream's window stops the sender.
//
// The pipe of a control connection stays open for Linger after the process at one end has ended.
// If that process had passed a reference on, the process that got it may still be registering with
// the owner. The owner must not hear of the end before the registration. For the same reason, when a node is lost, the pipes
// by which its processes have reached those of this node stay open for Linger here.
//
// # Goroutines and locks
//
// Each end of a pipe has two goroutines, one for each direction, and one descriptor. Mostly one of them works: what arrives on the stream
// while its goroutine waits is written to the process by the goroutine that has received it (Passer). An end of a pipe
// on which nothing is sent keeps 2 KiB of buffer for each direction. Pipes.mu guards the table of the
// ends that are open. No function of the daemon is called while it is held, so the daemon may call
// Left under its own lock. Close ends everything and waits for the goroutines.
package pipes
