// Package census answers what the nodes of the cluster do: who holds which object and runs which task (Take), and
// which resources are in use and for which work waits (Info).
//
// # A census
//
// The daemon that is asked asks each process of its node for its part, and each other living node for a part of the same kind, all at the same
// time. Actors, jobs and the list of nodes come from the head. Without the head there is no answer, since an empty list of actors
// would be taken for the truth. A process or a node that does not answer in time is left out, and the answer says which one and why.
//
// # Bounds
//
// A census has about maxRows rows, which the nodes and on each node the processes share. The answer of another node has linkmsg.MaxPart bytes at
// most: a node whose part is larger leaves out the second half of each list until it fits. A node that has not answered a question
// is not asked the same again while the first question is on its way: callers hear at once that it is silent.
//
// # Parts
//
//	census.go   what the daemon gives, and the questions of its processes
//	others.go   questions to other nodes, and their answers
//	handle.go   questions of other nodes
//	process.go  questions to the processes of this node
//
// # Goroutines and locks
//
// A question runs on the goroutine of its caller and starts one for each process and each node that it asks; they end with the
// caller's context. Handle starts one for each census that another node asks for, at most maxServed at a time. The lock
// guards the table of silent nodes only. Nothing is called with it held.
package census
