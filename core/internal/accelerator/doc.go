// Package accelerator knows the families of accelerators: the resource name of
// each family, how many devices a node has, which variable limits the devices that a
// process sees, and whether a device can be shared.
//
// Detection reads device files, /proc and /sys, and runs a vendor's tool where the
// files do not suffice; no vendor library is needed. A declared number overrides
// the detected one. The visibility variable of the daemon itself limits the node and
// gives the ids, which are kept as they are written: indices, UUIDs or MIG names.
//
// In a container, files that describe the whole machine count only together
// with the device files that the container was given. A tool that hangs, fails
// or prints nonsense counts as absent. It delays the start by its time limit at most,
// and all families are detected at the same time.
//
// A family is one file with one variable, listed in families (family.go); the
// Python package's table is generated from that list. The package keeps no state. It
// leaves a goroutine behind only where a driver never answers.
//
// A tool may run for 5 s, its output has a bound, and when it takes too long it is ended
// together with every process that it has started. If the driver does not let a killed tool
// end, detection goes on after 2 s more. The variables that make devices visible reach a
// worker with its lease. They are set before the function is unpickled, and again before
// each task, because the previous task may have changed them.
package accelerator
