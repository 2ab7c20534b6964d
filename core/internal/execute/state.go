package execute

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// This file has everything that the package knows: the types of the worker, its
// callers and their calls. The other files have their methods. They stand above
// this file and call each other in one direction only.

// Answers of one caller that follow each other soon share a write.
const (
	shareBytes = 4096                   // so much is sent at once
	shareFor   = 500 * time.Microsecond // what runs for longer has its answer sent at once
)

// Template describes many calls of one caller at once.
type Template struct {
	Kind     int
	FID      [16]byte
	Name     string
	Method   string
	Returns  int
	MaxCalls int
	Once     bool       // a call must not run twice: answers leave before the next one starts
	Flow     frame.Flow // of a generator
	Group    string     // concurrency group, see lane.go

	usual time.Duration // for how long its calls ran, smoothed
}

// Caller is a connection through which another process calls this worker.
type Caller struct {
	Owner ids.Owner
	Job   ids.Job // the caller's, which is not this worker's when an actor is called from another job
	Addr  string  // the caller's

	w      *Worker
	pipe   Pipe
	at     int    // in Worker.callers
	leased bool   // the caller leases this worker for tasks; else it calls an actor
	number uint64 // of the lease, or of the connection to the actor, see refs.TaskSocket
	tmpls  map[uint64]*Template
	slot   progress.Slot    // of an actor's caller, if the actor may restart
	latest uint32           // the call that was begun last, of an actor
	feeds  map[uint32]*Call // generators that it called, by sequence number
	mark   progress.Mark    // where a lessor reads which task has begun

	flushed time.Time // when answers that share a write left last
}

// Call is one call that a caller has sent. There is one for each task, so the
// order of its fields keeps it small: see TestCall_Size_FitsTheBlockOf288Bytes.
// The exported fields say what is to run, and nobody writes to them.
type Call struct {
	Caller *Caller
	Tmpl   *Template
	Task   ids.Task
	seq    uint32
	// The states of a call.
	cancel   bool // its cancellation was asked for
	taken    bool // it has begun, was given back, or was answered in the queue
	again    bool // it runs again, for results that were lost
	deferred bool // it waits in the queue for an argument that was lost
	returned bool // by the program

	Args   frame.Place
	Deps   []frame.Place
	Assign []byte           // instead of a task: what the worker is assigned, as a msgpack map
	Actor  *wire.ActorStart // set when the call is an actor's constructor

	token   uint64 // of a call that has been taken, for the program
	started time.Time
	held    []*refs.Object // pinned for the arguments, see Hold
	feed    *feed          // of a generator
	size    int            // what it counts for in the backlog
	had     map[int]bool   // results that the caller has: it runs again for others
	misses  int            // how often an argument was lost
	stop    chan struct{}  // closed when it is cancelled while its answer is written; nil: nobody waits
}

// feed is the worker's end of a generator that it runs. Its caller has the other end.
type feed struct {
	flow   *frame.Flow
	next   uint64     // index of the next item
	have   uint64     // its caller has those before
	taken  uint64     // of them, by the caller's program
	quit   bool       // nobody wants more
	stored bool       // the item before lies in the store
	lost   []uint64   // of what its caller had, what it is to get again
	queued bool       // it waits for the others, or did when it last looked
	room   *wait.Wait // of the generator, which waits until it may go on
	at     int        // in Worker.feeding; -1: the generator does not run
}

// Lane is a queue of calls, and the threads that wait for one.
type Lane struct {
	name     string // of the group; empty: the default lane
	queue    []*Call
	waiting  []*wait.Wait // threads that wait for a call
	index    queueIndex
	pushed   int    // calls that were ever queued
	deferred int    // calls that wait for a lost argument
	serve    func() // begins the thread of a lane that has none yet
	bytes    int    // of the calls that wait, of an actor with groups
	held     bool   // callers were told to send it no more
}

// queueIndex finds calls that wait, by task. It is made when something is
// cancelled, and knows the calls that were pushed until then.
type queueIndex struct {
	calls map[ids.Task]*Call
	upTo  int // of Lane.pushed
}

// backlog is what waits in an actor's process.
type backlog struct {
	bytes int
	most  int  // beyond which callers are not read
	share int  // of each concurrency group, beyond which callers keep its calls; 0: there are no groups
	full  bool // callers are not read
}

// function is the code of a function in a worker. It stays while a caller's
// connection has a template of it, or the worker's program keeps what it made of it.
type function struct {
	blob    []byte
	callers int
	loaded  bool
	fetched bool // blob came from the cluster's state: it is large, and goes when the program has loaded it
}

// ranRow is a row of tasks that this process has run one after the other. A template belongs to one caller, so
// their ids differ in their numbers only.
type ranRow struct {
	first  ids.Task
	tmpl   *Template
	last   uint64 // number of the latest task
	step   uint32 // between the numbers of two tasks
	n      uint32 // tasks
	failed bool   // all of them
}

// ranTasks are the latest rows; the latest one is number n-1, at its place in the ring. The times are those of the latest tasks, in the same way.
type ranTasks struct {
	ring  []ranRow
	n     uint64
	times []ranTime
	tasks uint64
}

// ranTime is when a task ran; zero if it is not known.
type ranTime struct {
	startedUs int64 // since 1970
	tookUs    int64
}

// Worker is the queue of one worker process, and what the process runs.
type Worker struct {
	do  Effects
	job ids.Job // of callers that name none

	main   Lane // the default lane
	groups []*Lane
	byName map[string]*Lane // the lanes of groups

	callers []*Caller // each knows its index
	fns     map[[16]byte]*function
	forgets [][]byte // functions that the program is to let go of
	backlog backlog

	calls    runs      // that run
	token    uint64    // of the newest call
	started  time.Time // when the newest running call began
	last     *Template // of the newest call, which may have ended
	feeding  []*Call   // generators that run
	feedMax  uint64    // items of all generators together that callers may leave untaken; 0: no limit
	ran      ranTasks
	canceled []*Call                // whose cancellation the program has not asked about
	early    map[ids.Task]time.Time // calls that were cancelled before they arrived

	blocked int       // running calls that wait for objects
	lent    bool      // the CPUs of this worker are lent to others
	lentAt  time.Time // when they were lent last
	resumed time.Time // when blocked became 0
	taker   *time.Timer

	actorID ids.Actor        // zero: the process is no actor
	page    *progress.Writer // of an actor that may restart

	closed   bool         // the session has ended
	ended    string       // why no more calls come; empty: they do
	told     bool         // the program's main loop was told so
	draining bool         // the actor ends when it has done what has arrived
	unread   bool         // draining, and something may not have been read yet
	leaving  bool         // the program ends the actor: nothing begins any more
	leavers  []*wait.Wait // threads that wait until the last call has ended
}
