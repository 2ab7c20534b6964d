// Package objects is the object store of one machine: the table of the objects
// in the arena, in files and on disk, and what moves them between these places.
// The daemon owns one Store and passes it the requests of its processes.
//
// # The table
//
// Table is one state machine. It knows who writes, pins and owns each object,
// gives out room in the arena (admission.go), clears ranges for large requests
// (ranges.go) and decides which objects leave the arena for the disk
// (eviction.go). These three cannot be separated: whether a request gets room
// depends on what is leaving the arena, and what leaves depends on who waits.
//
// The table does no I/O, starts no goroutine and takes no lock. It gives orders
// through the interface effects, and each order is answered later by a method of
// the table. It talks to processes through Notify. The time also comes from
// effects, so that tests play all of this without a disk and without a clock.
//
// Methods that other packages call are events. An event changes the table and
// ends with pump, which gives room to requests that wait.
//
// # The Store
//
// Store wires a table to an arena, a disk (spiller.go) and a timer (wake.go).
// The reclaimer (reclaim.go) gives pages of the arena back to the system.
//
// # Locking and goroutines
//
// The daemon's lock guards a Store. Whoever calls an exported method of Table or
// Store holds that lock, except for Open, Close, FD and SendTo. Each order to the disk
// runs on a goroutine of its own, which takes the lock to answer. The reclaimer
// has a lock and a goroutine of its own.
//
// # Invariants
//
//   - An object does not move while a process has it pinned.
//   - Whatever a process holds (pins, objects that it writes, requests that
//     wait) goes when the process goes.
//   - A request is answered exactly once, unless its process goes first.
//   - An object that is being written is not readable before it is sealed.
package objects
