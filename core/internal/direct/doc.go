// Package direct has sockets whose readers can wait in poll, each in a thread of its own, and not in Go's poller.
//
// When the processes of two nodes call each other one by one, each message passes two daemons. Nothing else runs there in that
// moment. Go's poller then costs more than the message: a thread returns from epoll_wait, finds the goroutine, and wakes a second
// thread that looks for more work. A goroutine that waits in poll is woken by the kernel, and goes on at once.
//
// # When a reader has a thread
//
// A Conn begins with Go's poller. After busyWaits waits in a row that were followed by little data, each within busyGap of the one before, its reader gets a
// thread, if fewer than maxThreads readers of this process have one. The Conn then keeps a descriptor of its own: Go's poller must
// not be woken by what the reader waits for. The reader goes back to Go's poller when nothing came for quietTime, when much data came, and when
// fullReads reads in a row found something without waiting.
//
// While a goroutine waits in poll, Go leaves its P with it for a while. A process that uses such sockets should have
// some more Ps than it has busy readers, so that other goroutines need not wait until the runtime takes a P away: Prepare.
//
// # Locks
//
// Conn.mu guards which descriptor is in use, and how many calls use it. Conn.writer is held by a Write. To change the descriptor, the reader
// takes both, and stays as it is while a Write waits.
package direct
