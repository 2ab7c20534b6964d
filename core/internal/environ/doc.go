// Package environ says which variables of a process hold secrets, and takes them out of an environment before another process gets it.
//
// The processes of a node may have the cluster's token in a variable. Everything that they start, and every program's workers, get an
// environment without it. A program of the cluster may have the variable, too: it is taken out before the program's environment travels
// to other nodes and into the cluster's state. The package keeps nothing and starts no goroutine.
package environ
