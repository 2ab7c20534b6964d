// Package overflow has what a daemon says to the head about leases: for which its node has no room, what the node has
// free, and what became of the head's offers. The scheduler (package sched) decides all of that, and this package
// passes it on to a Cluster. What comes from the head goes to the daemon itself.
//
// A daemon whose node is alone has no Reporter: the methods of a nil Reporter do nothing.
//
// The package has no goroutine and no lock. The daemon calls it with its own lock held, so what is said has one order.
package overflow
