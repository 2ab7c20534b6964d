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
// The methods that other packages call are events. An event changes the table
// and ends with pump, which gives room to waiting requests.
//
// # The life of an object
//
// A process creates an object, writes it into its range and seals it. Readers pin it: a
// process has one pin per object, for all its references and views together. A pin that is
// asked for before the seal is answered at the seal. The owner frees the object. Every
// process that has it pinned is told (freed.go) and unpins it when its program no longer
// looks at it. Nobody can pin a freed object any more.
//
// The last object of 1 MiB or more that a process has put stays pinned there. If its last
// reference goes and no other process has seen it, the next put of about that size takes
// its range over by ObjReuse (reuse.go).
//
// # Spilling
//
// A sealed object without a pin is idle. When room is missing, idle objects are written to
// disk in batches, least recently used first (eviction.go, batches.go). Then an object is
// clean: it can leave the arena at once, and once more without a write after it came back.
// A pin of a spilled object reads it back, eight at a time. If others would have to be
// written for that, it is mapped where it lies, unless it is wanted for the second time.
//
// When more lies on disk than half of the free memory, or writing through the page cache
// has cost more than 1 s of CPU per GB, batches that cannot be compressed bypass the page
// cache (cacheshare.go, and package spill).
//
// A replica is an object that was brought from another node. It is not written to disk. When
// room is missing, its owner's node is asked whether it may be dropped (replicas.go). If not, it is
// an object like others from then on.
//
// # Waiting for room
//
// Creations and returns from disk wait in one queue per process, and the processes take
// turns (admission.go). A request that fits goes on at once. A request of more than a
// sixteenth of the arena gets a range cleared, of which nobody else gets a part. The store
// asks processes to unpin objects that they keep only for quick use later (Notify.LetGo).
// When nothing more can leave after 100 ms, or the object is larger than the arena, the
// object gets a file that stands for memory: its writer writes through the descriptor, and
// readers map it.
//
// A request fails with OutOfDisk when the disk is full, or filled to 95 %, and with
// StoreFull when disks fail otherwise or spilling is off. A disk that hangs is no error:
// after 10 s the waiting program is told why it waits (Notify.Warn).
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
