// Package heads finds this machine's node of a cluster by the address of the cluster's head.
//
// The folder of a node's session has a file with the addresses of the heads (Name), which the command line writes and
// programs read: a program that is given HOST:PORT works on the node of its own machine that belongs to the cluster with
// that head. Hosts may be spelled in different ways, so names are looked up. The package keeps nothing and starts no goroutine.
package heads
