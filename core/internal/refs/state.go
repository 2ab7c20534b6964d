package refs

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// This file has everything that the package knows: the types of an object, of
// what waits for it and of the table. The other files have their methods.

// State says what is known of an object's value.
type State uint8

// The states of an object. An Infeasible object can still become ready when the
// cluster's resources change. Inline and Failed are final. A Stored object stays
// ready unless its copy is lost.
const (
	Pending    State = iota
	Infeasible       // its task can never be scheduled as things are; Fault says why
	Evicted          // only lineage needs it: its value was freed and can be computed again
	Inline           // Value is its envelope
	Stored           // its value is in the node's arena and takes Size bytes
	Failed           // it has a Fault instead of a value
)

// Object is what this process knows of one object. Only this package changes it;
// others read it with the methods in object.go.
type Object struct {
	ID        ids.Object
	state     State
	isError   bool
	flags     flags
	home      uint8 // see home.go
	ownerAddr string
	site      uint32
	maker     uint32
	waitID    uint32 // of a wait that counts the object, see waitid.go
	local     int32
	pins      int32
	lineage   int32 // recipes that need the object
	size      uint64
	value     []byte
	fault     *fault.Error
	contained []*Object
	source    Source
	copy      Copy
	watch     *watch // nil: nobody waits, but for a wait with an id
	recipe    *Recipe
	borrowers map[ids.Owner]struct{}
}

// flags are facts of an object that are looked at too seldom for a field each.
type flags uint8

const (
	asked       flags = 1 << iota // the owner was asked for the value of this borrowed object
	seen                          // somebody has looked at the failure that the object is
	shared                        // others may know of the object
	lineageOnly                   // only recipes hold the value, so it counts in Table.lineageBytes
	lost                          // the store has no copy, as long as the object is Verifying
	flagsEnd
)

// Source is where an object comes from: the unfinished task that returns it. The
// source of an actor's lifetime token is the actor.
type Source interface {
	// IsActor reports whether the source is an actor and not a task.
	IsActor() bool
}

// Task is a task as the table knows it: objects come from it, it waits for
// objects, and a recipe keeps it when it has finished.
type Task interface {
	Source
	// LineageBytes is how much memory the task takes while a recipe keeps it.
	LineageBytes() uint64
}

// Copy is this process's pin of an object's copy in the arena.
type Copy interface {
	// InUse reports whether the program looks at the copy's memory.
	InUse() bool
}

// watch lists who waits for an object that is not ready.
type watch struct {
	waits     []*wait.Wait
	tasks     []Task          // that take the object as an argument
	questions []*wire.Message // of borrowers
	patient   []*wire.Message // of borrowers who know that the object is infeasible
}

// Recipe is a finished task that is kept to compute its results again, should
// they be lost. The table keeps the entries of the objects that the task took.
// It also keeps the values of those that cannot be computed again themselves.
// The values of the others go when nobody holds them, and are computed again when
// they are needed.
type Recipe struct {
	task  Task
	bytes uint64
	needs []*Object // of ours
	why   Why

	results      int  // how many objects it can compute
	running      bool // the task runs again
	older, newer *Recipe
	listed       bool
}

// Why says whether an object can be computed again, and if not, why not.
type Why uint8

// A recipe is Whole until it is dropped. The other reasons are also those of
// objects that never had a recipe.
const (
	Whole     Why = iota
	Forgotten     // the recipe was dropped to bound the memory of lineage
	Exhausted     // its task has used all its retries
	NoRetries     // its task was submitted without retries
	Off           // lineage is switched off
	Freed         // the program freed the value by hand
)

// Table holds the objects of one process.
type Table struct {
	effects  Effects
	self     ids.Owner
	addr     string // of this process
	job      ids.Job
	next     uint64
	owned    index
	borrowed map[ids.Owner]*index
	foreign  int               // how many objects are borrowed
	lender   ids.Owner         // the owner that was looked up last,
	lent     *index            // and what is borrowed of it; nil: none was looked up
	lentTo   map[ids.Owner]int // how many objects of ours a process borrows
	homes    []uint32          // the nodes that objects name as theirs, see home.go
	freed    []*Object         // died since the last CarryOut
	todo     []*Object         // work is to look at them

	// Waits that have an id, see waitid.go.
	waits    []identified
	lastWait uint32

	// Lineage, see recipe.go and lineage.go.
	oldest, newest *Recipe
	recipeBytes    uint64
	lineageBytes   uint64    // of values that only recipes hold
	evicted        []*Object // became Evicted since the last CarryOut
	unused         []Task    // of recipes that were dropped since the last CarryOut

	registrations
	confirmations
	verification
	patient   map[ids.Object]bool   // questions ForFeasible that are under way
	lateDrops []Drop                // wait until all references are registered
	kept      map[ids.Object]func() // see Keep
	lostWith  map[ids.Object]string // see LostWith; nil but while the answer about copies is handled
	lastGot   lookedAt
}

// identified is a wait that has an id.
type identified struct {
	id     uint32
	wait   *wait.Wait
	beside []*Object // had another wait's id, so the wait is in their watches
}

// registrations are the references that were sent to owners and not acknowledged yet.
type registrations struct {
	unregistered int
	ackWaits     []*wait.Wait // for all of them to be acknowledged
	receipts     []receipt    // sent then
	ownerLate    bool         // an owner has not acknowledged for a while, and does not keep answers waiting
	retained     []*Retained
}

// receipt is a message that tells a worker that the references inside its answer are registered.
type receipt struct {
	worker string
	answer uint64 // the answer's number
}

// Retained are the arguments of a call that was answered before its worker had
// registered what it keeps of them. They are pinned.
type Retained struct {
	worker string // its address
	list   []*Object
	pause  time.Duration // before it is asked the next time
}

// confirmations are what is held for callers.
type confirmations struct {
	unconfirmed map[ids.Owner]map[uint64]heldAnswer // by the answer's number
	answers     uint64                              // number of the newest answer that was held
}

// verification is what the daemon is asked about copies.
type verification struct {
	unverified []*Object // to be asked about
	asking     bool      // a question about others is under way
}

// Drop is one thing that the program let go of: a reference, or what View says.
type Drop struct {
	Object ids.Object
	View   uint64
}

// What Drop.View says when it is no view of a stored value. A batch's number is the object's count.
const (
	DropStream = ^uint64(0)     // the generator of this object
	DropSome   = ^uint64(0) - 1 // some references of a batch: their bits are new
	DropLast   = ^uint64(0) - 2 // all references of a batch: the program does not touch it any more
)

// lookedAt is a value that the program got: where it lies, and whose it is.
type lookedAt struct {
	id   ids.Object
	from uintptr
	n    uintptr
}

// Question says what a borrower asks about an object.
type Question uint8

// The questions about a borrowed object.
const (
	ForValue    Question = iota // its value
	ForLost                     // its value, because the store has no copy of it, although the owner said so
	ForFeasible                 // its value, when it is there after all: the borrower knows that no node can make it as things are
)
