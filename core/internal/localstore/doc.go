// Package localstore is one process's side of its node's object store: what the
// process has mapped and pinned there, and how it writes values into it.
//
// A Store has a View for each stored object that this process has pinned: one for
// all references and all memory views together. The daemon neither moves nor frees
// what is pinned. A view is held by the reference table (for the next get), by calls
// that run, by the program, or by the range that the next put may take (reuse.go).
// When the last holder goes, the pin is given back, exactly once. There is one
// exception: in a worker, a view that a task has looked at stays for a while
// without a holder, for the next task (idle.go).
//
// Store is a machine of events. A method is an event, and the caller holds the session's
// mutex. No method waits for the daemon, starts a goroutine or takes that mutex. A method
// that needs an answer from the daemon returns an object that has a channel (Pinning,
// Batch, Room, Check, Promotion). The session waits for that channel without the mutex
// and then calls the next event. Store asks other parts through the interfaces Daemon and
// Clock, which core/internal/nodestore/daemon.go implements. It tells the reference table
// where copies are.
//
// Some methods need no mutex, because they touch only the arena's mapping, files of
// the store and the daemon's connection: Write, AskRoom, TakeBack, Trim, and the
// methods of Room, Check and Promotion. Write and Promotion.Write copy values, so
// they take as long as that does.
//
// Loans and orphaned views outlive the session. Each of the two has its own lock,
// shared by the whole process (loan.go, orphans.go). While one of these is held, only
// the mapping's own lock is taken. Close and the end of the last orphaned view take
// that one for writing, so they wait for copies under way.
//
// Invariants:
//
//   - An object has at most one view, and at most one Pinning while the daemon
//     is asked for it.
//   - No object is unpinned while a view of it has a holder.
//   - Each pin that the daemon has given is given back once: by Unpin, by Reuse, or
//     with the connection when the session ends.
//   - What the program looks at when the session ends stays mapped until it lets go.
//
// The files: store.go has all types and what the store asks of others, view.go who holds a view,
// release.go how holds end, pin.go how a view comes, batchpin.go the
// same for a list, prefetch.go what a list takes next, idle.go and reuse.go
// the two cases above, loan.go values that lie in this process's memory, orphans.go
// views without a session, room.go, write.go and promote.go how values are
// written, check.go which copies the store has, arena.go and trim.go the mapping.
package localstore
