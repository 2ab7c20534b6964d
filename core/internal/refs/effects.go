package refs

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Effects are what the session does for the table at once, in the middle of an
// event. The session's mutex is held. None of them may block.
type Effects interface {
	ValueEffects
	OwnerEffects
	LineageEffects
	ReleaseEffects
	// ArrivalSite returns the site that is noted of references which came in at
	// a site of the program. It is asked only for an object that has none yet,
	// and once for all references of a value.
	ArrivalSite(site uint32) uint32
}

// ValueEffects concern those who wait for an object's value.
type ValueEffects interface {
	// Wake ends a wait: it has what it waits for.
	Wake(w *wait.Wait)
	// Ready tells a task that an argument which it waited for is ready.
	Ready(t Task)
	// Infeasible tells a task that an argument which it waits for may never come.
	Infeasible(t Task, why *fault.Error)
	// Reply answers a borrower who asked for the object.
	Reply(question *wire.Message, o *Object)
	// Refuse answers a borrower that the object for which it asked is gone.
	Refuse(question *wire.Message, why error)
}

// OwnerEffects are messages of the table to the owners of borrowed
// objects, and to the callers and workers of tasks.
type OwnerEffects interface {
	// Borrow tells the object's owner that this process holds it. When the owner
	// has answered, or has ended, Registered follows.
	Borrow(o *Object)
	// GiveBack tells the object's owner that this process holds it no longer.
	GiveBack(o *Object)
	// Ask asks the object's owner a question. Answered follows.
	Ask(o *Object, q Question)
	// Receipt tells a worker that the references inside its answer with this number are registered.
	Receipt(worker string, answer uint64)
	// AskRegistered asks a worker, after a pause, whether it has registered what
	// it keeps of a call's arguments. WorkerRegistered follows.
	AskRegistered(r *Retained, pause time.Duration)
	// AskRead asks the caller of a task socket that broke, after a pause, whether it
	// reads nothing more from the socket and has registered all references that it got.
	// It does not ask if nothing is held for the socket (HoldsFor) when the pause is over.
	// CallerRead follows a question.
	AskRead(s TaskSocket, pause time.Duration)
}

// LineageEffects concern objects that are lost.
type LineageEffects interface {
	// Check asks the store which of these objects it has no copy of. Checked
	// follows. It returns false when the session ends, and nothing follows.
	Check(list []*Object) bool
	// Siblings returns the results of the task that can make the object again, or that is making it.
	Siblings(o *Object) []*Object
	// Recompute computes an object of ours again that has no copy any
	// more. ToRecompute says whether that is possible.
	Recompute(o *Object)
	// Pointer returns the envelope that stands for an exception in the store.
	Pointer(exception *Object) []byte
}

// ReleaseEffects are what follows when nobody holds an object any more. CarryOut
// causes them, and the events that end with it.
type ReleaseEffects interface {
	// Free tells the store to free its copies of objects of ours.
	Free(ids [][]byte)
	// CopyLost says that the store's copy of an object is gone or is being freed, so that nothing here may use it again.
	CopyLost(id ids.Object)
	// DropCopy lets go of this process's pin of a dead object's copy. It returns
	// true when the session keeps the memory of the copy for another object: then
	// neither the store nor the owner is told.
	DropCopy(o *Object) (kept bool)
	// SourceGone tells an actor that its last handle is gone, or a task that nobody holds this result of it any more.
	SourceGone(s Source, o *Object)
	// RecipeGone says that a finished task is not kept any more.
	RecipeGone(t Task)
	// Unseen says that a failure is dropped at which nobody has looked.
	Unseen(o *Object)
	// Released runs the release function of an object that is gone. It may block, so it needs a goroutine.
	Released(release func())
	// DropView lets go of a view of a stored value.
	DropView(view uint64)
	// DropStream lets go of a generator.
	DropStream(generator ids.Object)
	// Needed says that a worker that ends may be needed by fewer processes now.
	Needed()
}
