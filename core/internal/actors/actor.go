package actors

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Effects is what the actors of a process ask of its session. A function that is handed over is
// called with the mutex held, and never before the method that it was handed to has returned.
type Effects interface {
	// Push tells the daemon.
	Push(t wire.Type, body any)
	// Request asks the daemon.
	Request(t wire.Type, body any, answered func(*wire.Message, error))
	// Known reports whether there is a control connection to a process.
	Known(addr string) bool
	// Later calls a function when a time has passed, unless the session has ended.
	Later(d time.Duration, f func())
	// MakeRoom gives back leases that have nothing to do, before an actor is created that may take
	// what these leases hold.
	MakeRoom()
	// CreationEnded tells that a constructor of this process's has ended for good.
	CreationEnded()
}

// Calls is the row in which an actor's calls are.
type Calls interface {
	refs.Source
	// Waiting reports whether there are calls that have not been sent.
	Waiting() bool
	// Unanswered returns how many calls have no answer yet.
	Unanswered() int
	// Open opens a socket to the actor. SocketOpened follows.
	Open(x Incarnation)
	// Unschedulable tells that no node can run the actor for now, so its calls wait.
	Unschedulable(why *fault.Error)
	// Sort decides what becomes of the calls that an incarnation had, which has ended.
	Sort(f *wire.ActorDeath)
	// FailCalls ends all calls: the actor is dead for good.
	FailCalls()
	// Forget lets go of the row and of the socket: nothing leads to the actor any more.
	Forget()
}

// Incarnation is one process of an actor.
type Incarnation struct {
	Number uint64 // it is the actor's process with this number, from 1
	Addr   string // of its process
	Conn   uint32 // what it knows the connection of this process by
}

// Table has what all actors of a process share.
type Table struct {
	Process
	objects *refs.Table
	fx      Effects
	ended   bool // the session has ended
}

// Process says which process this is.
type Process struct {
	Self      ids.Owner
	Job       ids.Job
	Namespace string
	Addr      string // where other processes reach it
}

// Actor is one actor that this process calls or holds a handle of.
type Actor struct {
	ID          ids.Actor
	name        string // of its class
	of          *Table
	calls       Calls
	token       *refs.Object  // nil: handles are not counted
	incarnation uint64        // the latest incarnation that a socket was opened to
	asking      bool          // the daemon is asked where it is, or a socket to it is being opened
	forgotten   bool          // its row is gone
	broken      bool          // the socket to the incarnation broke, and it is not known what became of it
	over        bool          // the socket to the incarnation broke, and none to a later one was opened
	conn        uint32        // the number of the socket that broke
	patience    time.Duration // the delay before the daemon is asked again, see unannounced
	handles     int           // this process's handles, when there is no token
	timed       bool          // a timer runs that forgets the row if nothing needs it then, see forgetLater
	called      bool          // a call has ended since the timer was set
	dead        *fault.Error  // why it is dead for good; nil: it is not
	deadEnv     []byte        // the envelope of its constructor's exception
	raised      *refs.Object  // that exception when it is in the store, pinned
	bad         *fault.Error  // why it cannot be scheduled as things are
	creation    *creation     // until its constructor has ended
}

// Join tells the table which process it belongs to, and of the table of its objects.
func (x *Table) Join(p Process, objects *refs.Table, fx Effects) {
	x.Process, x.objects, x.fx = p, objects, fx
}

// End tells the table that the session has ended.
func (x *Table) End() { x.ended = true }

// Add makes an empty row that of an actor, whose calls are in another row.
func (x *Table) Add(a *Actor, calls Calls, id ids.Actor, name string) {
	*a = Actor{ID: id, name: name, of: x, calls: calls}
}

// Name is the name of the actor's class.
func (a *Actor) Name() string { return a.name }

// Token is the object that stands for the actor's handles, nil if they are not counted.
func (a *Actor) Token() *refs.Object { return a.token }

// Handles is how many handles without a token there are.
func (a *Actor) Handles() int { return a.handles }

// Dead says why the actor is dead for good, nil if it is not.
func (a *Actor) Dead() *fault.Error { return a.dead }

// Exception is the exception of the constructor, if the actor is dead for that: its envelope, and its object when it is in the store.
func (a *Actor) Exception() (env []byte, stored *refs.Object) { return a.deadEnv, a.raised }

// Infeasible says why no node can run the actor for now, nil if one can.
func (a *Actor) Infeasible() *fault.Error { return a.bad }

// Forgotten reports whether nothing leads to the actor any more.
func (a *Actor) Forgotten() bool { return a.forgotten }
