package client

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/progress"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// membership is what this process is in its session. The session writes it, and
// the parts of the session that stand for themselves read it.
type membership struct {
	info   Info
	self   ids.Owner
	closed bool
	why    error // why it closed
	table  *refs.Table
}

// submitter is the submitting half of a session: templates, scheduling classes
// and their queues, leases, the channels to workers and actors, and the calls that
// have no answer yet.
//
// Its methods are events. Each is called with the session's mutex held, and none
// of them blocks, starts a goroutine or touches the mutex: what takes time is asked
// of submitEffects, and the answer comes as another event.
type submitter struct {
	*membership
	fx        submitEffects
	successor bool // it goes on in the place of another process, whose grants it has not counted

	// Templates. The place of a template in tmpls is its number; nil: the number is in freeIDs.
	tmpls   []*Template
	freeIDs []int
	endings endings

	// Scheduling classes and leases.
	classes   map[uint32]*class
	byClass   map[string]*class
	shapes    map[string]*shape
	nextClass uint32 // number
	leases    map[uint64]*lease
	begun     *progress.LeasePage // what the workers of the leases have begun
	idleTimer timer
	idleLook  time.Time // when idle leases are looked at; zero: not

	// Calls without an answer.
	unfinished int              // tasks and calls submitted
	inflight   int              // of them, sent to a worker or an actor
	limbo      int              // of them, in no queue because something else is waited for first
	delayed    map[*task]*delay // of them, waiting to be tried again
	retryDelay time.Duration    // before every retry, by the environment
	lineage    lineage
	cancels    burst
	resending  map[*cancellation]bool // cancellations that have not arrived and are sent again after a pause

	actors   map[ids.Actor]*actor
	streams  map[uint64]*stream // generators that the program reads, by the count of their own object
	yielding map[uint64]*task   // generators whose items come, alike

	// The report about what waits for long.
	pendingTimer timer
	pendingArmed bool
	looks        uint32               // how often it was looked at what waits
	pendingFrom  uint32               // the look that came last before the timer was armed
	reported     map[string]time.Time // what was warned about, and when to warn again
}

// init makes a submitter ready to take events.
func (c *submitter) init(m *membership, fx submitEffects) {
	*c = submitter{
		membership: m, fx: fx, classes: map[uint32]*class{}, byClass: map[string]*class{}, shapes: map[string]*shape{},
		leases: map[uint64]*lease{}, actors: map[ids.Actor]*actor{}, streams: map[uint64]*stream{},
		resending: map[*cancellation]bool{},
	}
}

// timer is a call of a function that was put off. It is what time.AfterFunc returns.
type timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// submitEffects is what the submitting half asks of the session. Every function
// that is handed over here is called with the mutex held, and never before the
// method that it was handed to has returned.
type submitEffects interface {
	// Push tells the daemon.
	Push(t wire.Type, body any)
	// Request asks the daemon.
	Request(t wire.Type, body any, answered func(*wire.Message, error))
	// Tell sends a message to another process, over a control connection.
	Tell(addr string, t wire.Type, body any, done func(error))
	// Known reports whether there is a control connection to a process.
	Known(addr string) bool
	// Connect opens the socket of a channel: its event connected comes next. Page is a
	// descriptor that goes along, or -1.
	Connect(o *outConn, hello wire.Hello, page int)
	// After calls a function when a time has passed, unless the session has ended.
	After(d time.Duration, f func()) timer

	// Promote moves arguments of a task that are too many for one message to the arena: its event promoted comes next.
	Promote(t *task, list []*refs.Object)
	// Report tells the program's user what has waited for long.
	Report(list []*waitReport)
	// Warn tells the program's user.
	Warn(text string)
	// Unheld tells of a failure that no reference can show, because the program has let go of all of them.
	Unheld(t *task, f *fault.Error)
	// NeverFetched tells of an exception that no reference can show.
	NeverFetched(t *task, value []byte, size uint64)
	// LessNeeded tells that something has ended for which this process had to stay.
	LessNeeded()
	// Maker returns the number of the template's name, for the census.
	Maker(t *Template) uint32
	// Number reads a setting.
	Number(name string, otherwise int) int
	// Log writes a line to standard error.
	Log(text string)
	// Descriptor tells of a descriptor that a forked child must close, and before one is closed.
	Descriptor(fd int, open bool)
}
