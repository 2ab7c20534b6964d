package execute

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/progress"
	"github.com/eagleray/eagleray/core/wait"
)

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

	calls    map[uint64]*Call // that run, by token
	token    uint64           // of the newest call
	started  time.Time        // when the newest running call began
	last     *Template        // of the newest call, which may have ended
	feeding  []*Call          // generators that run
	feedMax  uint64           // items of all generators together that callers may leave untaken; 0: no limit
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

// New returns the queue of a worker of the job. Callers that do not name their
// job are of the same one.
func New(do Effects, job ids.Job) *Worker {
	return &Worker{
		do: do, job: job, backlog: backlog{most: maxBacklog},
		fns: map[[16]byte]*function{}, calls: map[uint64]*Call{}, early: map[ids.Task]time.Time{},
	}
}

// ActorID returns the actor that the process has become, zero when it is none.
func (w *Worker) ActorID() ids.Actor { return w.actorID }

// LastName returns the name of what ran last or runs now.
func (w *Worker) LastName() (name string, any bool) {
	if w.last == nil {
		return "", false
	}
	return w.last.Name, true
}

// Counts says how many entries the tables of a worker have.
type Counts struct {
	Running, Waiting   int // calls
	Early              int // cancellations of calls that have not come
	Callers, Functions int
	Blocked            int // running calls that wait for objects
	Backlog            int // bytes of the calls that wait
	Threads            int // that wait for a call of the default lane
	Forgets            int // functions that the program is to let go of
	Lent, Full         bool
	Draining, Leaving  bool
}

// Counts returns how much the worker holds.
func (w *Worker) Counts() Counts {
	return Counts{
		Running: len(w.calls), Waiting: w.Waiting(), Early: len(w.early), Callers: len(w.callers), Functions: len(w.fns),
		Blocked: w.blocked, Backlog: w.backlog.bytes, Threads: len(w.main.waiting), Forgets: len(w.forgets),
		Lent: w.lent, Full: w.backlog.full, Draining: w.draining, Leaving: w.leaving,
	}
}

// Callers returns the callers of this worker. The list is the worker's own.
func (w *Worker) Callers() []*Caller { return w.callers }
