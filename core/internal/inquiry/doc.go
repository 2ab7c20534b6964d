// Package inquiry has the daemon's questions to the head: what a daemon may ask, in which order
// the questions of a process are asked and how long an answer may take, what a process is told
// when no answer comes, and how the head's records look in the answers to processes. The head may be in this process or far
// away; then each answer takes a while, and some do not come.
//
// # Parts
//
//	head.go    Head, all that a node asks and tells
//	reads.go   Reads, the questions that change nothing
//	queue.go   Queue, the requests of one process in order, with a deadline each
//	starting.go WhileHeard, how long a program that connects waits
//	fault.go   Unanswered, what a process is told when the head does not answer
//	pending.go Pending, the questions of one process that wait for something to happen
//	groups.go  the questions of processes about placement groups
//	answers.go the answers to processes that need nothing but the head
//	keys.go    KeyStore, the key-value store of Go programs
//	keyrequests.go KeyRequests, the requests of one process about them
//	rows.go    the head's records as the rows of a census
//
// # Deadlines
//
// A request waits for Patience, counted from its arrival or from the last answer that its process
// got, whichever is later. A head that is slow and answers may take as long as it needs for many
// requests. When it does not answer at all, all requests of a process end together after
// Patience, and not one after the other.
//
// A program that connects has nothing to lose yet, and somebody waits in front of it: it ends after StartPatience if the head is away.
//
// # Goroutines
//
// A Queue has one while there are requests in it. It has no other state than the queue, and ends
// when the context of its requests does. A KeyRequests has a Queue for each lane, and one goroutine for each watch that waits;
// they end with the context, or when the process is gone (End). WhileHeard has one until its context ends.
package inquiry
