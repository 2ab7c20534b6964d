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
// Files that a container shows of the whole machine count there only together
// with the device files that the container was given. A tool that hangs, fails
// or prints nonsense counts as absent: it costs the start its time limit, and
// the families are looked for at the same time.
//
// A family is one file with one variable, listed in families (family.go); the
// Python package's table is generated from that list. Nothing here keeps state;
// a goroutine is left behind only where a driver never answers.
//
// A tool has 5 s, its output has a bound, and it is ended with everything that it has
// started; a driver that does not let a killed tool go is given up after 2 s more. The
// variables that make devices visible reach a worker with its lease: before the function
// is unpickled, and again before each task, since the task before may have changed them.
package accelerator
