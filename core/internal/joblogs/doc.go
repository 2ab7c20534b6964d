// Package joblogs brings what workers write to the driver of their job when the driver is on another node. The daemon of each node
// has a Logs, which plays both parts: it sends what workers of this node write for drivers elsewhere, and it takes what other nodes
// send for drivers of this node.
//
// # The node of the workers
//
// Open returns the sink of a job whose driver is elsewhere. Workers add lines to it as they do to the sink of a job of this node. The sink
// calls its sender with one batch after the other, and the sender gives each batch to the driver's node and waits for the answer. So the lines of a
// process stay in order, and one batch a job is on its way at most. If the driver's node is slow or silent, the sink fills to its bound and
// then drops the oldest lines. It counts them, and the driver is told how many. Lines that were in a call which failed are counted too: nobody
// knows whether they have arrived, so they are not sent again.
//
// Which node has the driver is known from the head (Runs). News of a job may be later than its first worker here; the sender waits for it.
// The answer says whether the driver wants output at all. If it does not, the sender drops lines of workers and sends warnings of the runtime only.
//
// # The node of the driver
//
// Drives notes a driver. What other nodes send for its job goes into the job's own sink, so the bound, the order and the report of dropped
// lines are those of one node. Each line gets the address of its node, unless that is the address of this node too.
//
// A node says that it may run workers of a job (an Output without lines) before the first of them can start. When the driver leaves, Finish asks
// those nodes for the rest (OutputEnd): each ends its workers of the job, reads their output to the end and answers when it has sent that.
// Finish waits for these nodes as long as it waits for workers of its own node (DrainLimit).
//
// # Locks and goroutines
//
// The lock of Logs guards its tables. It is taken after the daemon's lock, and nothing is called with it held but methods of the network, which do not
// wait. A sender runs on the goroutine of its sink. End and each OutputEnd have a goroutine until the output is sent; all of
// them end with Close.
package joblogs
