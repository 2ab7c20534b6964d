package submit

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/cancellation"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/leases"
	"github.com/eagleray/eagleray/core/internal/queue"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/waiting"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// This file and taskstate.go have everything that the package knows. The other files have
// the methods, and call each other in one direction with few exceptions.

// Member says which process this is in its session.
type Member struct {
	Self      ids.Owner
	Node      ids.Node
	Job       ids.Job
	Namespace string
	Addr      string // where other processes reach it
	Totals    wire.Totals
}

// Settings are what the environment and the role of the process decide.
type Settings struct {
	Successor  bool          // it goes on in the place of another process, whose grants it has not counted
	RetryDelay time.Duration // the least delay before a retry
	Lineage    Lineage
}

// Lineage says what may be kept to compute lost objects again.
type Lineage struct {
	Off   bool
	Limit uint64 // bytes of finished tasks
	Bytes uint64 // most bytes of values that only finished tasks hold
}

// Submitter is the submitting half of a session: templates, scheduling classes
// and their queues, leases, the channels to workers and actors, and the calls that
// have no answer yet.
//
// Its methods are events. Each is called with the session's mutex held, and none
// of them blocks, starts a goroutine or touches the mutex: what takes time is asked
// of Effects, and the answer comes as another event.
type Submitter struct {
	Member
	table    *refs.Table
	closed   bool  // the session has ended,
	why      error // for this reason
	leaving  bool  // the process ends, and stays as long as it is needed
	fx       Effects
	Settings Settings

	templates.Table[Class] // the templates

	leases.Pool[Task, Channel] // the scheduling classes and the leases

	// Calls without an answer.
	Open     int              // tasks and calls submitted
	Sent     int              // of them, sent to a worker or an actor
	sentFar  int              // of these, to one on another node
	Unqueued int              // of them, in no queue because something else is waited for first
	Delayed  map[*Task]*Delay // of them, waiting to be tried again
	Cancels  cancellation.Burst
	outbox   cancellation.Outbox // cancellations that have not arrived; a successor does not get them

	memory int64 // the most memory of a node, as was last heard with the end of a worker; 0: nothing was heard

	actors     actors.Table
	Actors     map[ids.Actor]*Actor
	Generators generators.Table

	waiting.Watch // what waits for long, of which the user is told
	pendingTimer  Timer
}

// Class is a scheduling class: the tasks that may run in the same workers.
type Class = leases.Class[Task, Channel]

// Lease is a worker that the daemon has lent to this process.
type Lease = leases.Lease[Task, Channel]

// Channel is a channel through which we call a leased worker or an actor.
type Channel struct {
	Pipe   // nil until it is open
	c      *Submitter
	Lease  *Lease             // nil: the channel leads to an actor
	Actor  *Actor             // nil: the channel leads to a lease's worker
	gives  *wire.Assignment   // of a lease: what its worker is told first; nil: it was told
	addr   string             // the worker's
	seq    uint32             // number of the latest call
	unsent uint32             // number of the first call that was queued since all bytes had left; 0: none was
	node   uint32             // the number of the other node on which the worker is; 0: it is on this one
	sent   queue.Window[Task] // the calls that were sent and not answered, by number
	known  templates.Known    // the templates and functions that the worker has
	number uint32             // of an actor: what its worker knows this connection by
	inc    uint64             // of an actor: the incarnation that the channel leads to
	filled map[string]bool    // of an actor: its concurrency groups that take no more calls for now
}

// Actor is an actor, with the calls of this process to it. Package actors writes the embedded row.
type Actor struct {
	actors.Actor
	c       *Submitter
	Channel *Channel
	stuck   bool            // its calls cannot be sent,
	since   uint32          // since this look, see waiting.go
	Queue   Queue           // calls that were not sent, in order
	grouped bool            // some calls are of a concurrency group
	held    map[string]bool // groups whose calls wait for arguments; nil: not known
	Pending int             // calls without an answer
	limit   int             // the most that pending may be; 0: no limit
	Sent    []*Task         // the calls that it had when its socket broke, until it is known which had begun
}
