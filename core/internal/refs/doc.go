// Package refs is the reference table of one process. It knows the objects that
// the process owns and those that it borrows, who holds each of them, what is
// known of their values, and who waits for them.
//
// It is a machine of events. Most methods of Table are events: a reference was made,
// a value came, a borrower went, an owner answered. The other methods are questions, which
// change nothing. The consequences of an event are effects, which the session carries
// out (Effects). Most effects happen in the middle of the event. The effects of the death
// of objects are collected and caused by CarryOut, so that a million objects that died
// together need one message. An event that another process has caused calls CarryOut
// itself; after all other events the session calls it. The package has no clock, socket or
// goroutine, and no lock except the one of the process's ref batches. core/internal/client
// calls the package under the session's mutex, and the effects run under the mutex, too.
//
// An object lives while any of these is left: a local reference, a pin (a task
// that takes it as an argument, a value that contains it, a reply that was not
// yet received), a borrower, a recorded task that needs it to run again. An owned
// object that dies frees its stored copy and lets go of what its value contains. A
// borrowed one is given back to its owner.
//
// # Owners and borrowers
//
// The process that makes a reference owns the object: its value or the place of
// its value, its count, and the task that makes it. The object's id says who the
// owner is (core/ids). Every other process that holds the reference is a borrower.
// Each process listens on a socket of its own, over which borrowers and owners talk.
//
//   - A reference arrives inside an argument, a result or a value. Borrow makes the
//     entry, and the owner is told (RefBorrow). Until the owner has acknowledged that,
//     the reference is unregistered, and the process keeps everything that may have
//     brought it: what the program drops (Drop), what a result refers to (HoldResult),
//     and the arguments of a call that is answered (Retain). Otherwise the owner could
//     free the object after the last holder that it knows has let go, and before it
//     hears of the new one.
//   - The worker that answers a call pins what the answer refers to, and gives the answer
//     a number. The caller borrows each reference. When the owners have acknowledged that,
//     the caller sends Received with the number, and the worker lets go (Confirmed). When
//     the task socket breaks, the worker asks the caller whether it still reads the answers
//     that it has not confirmed (CallerLost, CallerRead).
//   - A value that contains references pins them for as long as it lives.
//   - A borrower asks for a value with RefWait. The owner answers when the object is
//     ready, with the envelope, with "it lies in the store", or with a fault.
//   - A borrower lets go with RefReturn. When it ends, its connection ends, and the owner
//     drops everything that it held (BorrowerGone).
//   - When an owner ends, its objects that were not ready become OwnerDied at their
//     borrowers (OwnerGone), and the daemon frees what the owner had in the store.
//   - An actor's handles are counted in the same way. The actor's creator owns a token,
//     which is an object without a value. Handles refer to it or borrow it, and the
//     actor is released when it dies.
//
// # References inside a value
//
// The pickle of a value has only the places of its references. Their ids and owners
// stand in a table in front of the pickle (reftable.go), which one call reads. The
// references that one reading of a value returns are a batch (refbatch.go): the
// program drops a reference by setting its bit, and tells the table only when it
// drops the first one.
//
// # Lineage
//
// Only what lies in the store can be lost. So the owner keeps the finished task of
// each stored result that can be computed again: a Recipe. It holds what the task took
// by references that count by themselves (Object.Lineage). An object that only recipes
// hold keeps its entry. Its value goes if a recipe can compute it again (Evicted), and
// stays if none can, because it was made by put or as a large argument. BoundLineage
// lets the oldest recipes go. verifycopy.go says what happens to an object that is lost.
//
// The files: state.go has the types, object.go what others may read of an object,
// effects.go what the session does. value.go has the events of a value, watch.go and
// waitid.go who waits for it, errorvalue.go and unrecoverable.go how it fails.
// table.go has who holds an object, drops.go and refbatch.go what the program lets
// go of, attachments.go what goes with an object, and release.go has all that
// follows when nobody holds it. borrow.go, registration.go and confirmations.go have
// what processes tell each other; reftable.go and inside.go have the references
// inside a value. recipe.go, lineage.go and verifycopy.go say how a lost object is
// computed again. snapshot.go, facts.go and move.go let another process take a table
// over. index.go and borrowed.go find objects.
package refs
