// Package accelerator knows the families of accelerators: under which resource
// name each is counted, how many a node has, which variable makes a process see
// some of them only, and whether one can be shared.
//
// Detection reads device files, /proc and /sys, and runs a vendor's tool where
// files do not tell; no vendor library is needed. What is declared overrides
// what is detected. The visibility variable that the daemon itself was started
// with limits the node and gives the ids, which are kept as they are written:
// indices, UUIDs or MIG names.
//
// A family is one file with one variable, listed in families (family.go).
// Nothing here keeps state or starts goroutines.
package accelerator
