package execute

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// New returns the queue of a worker of the job. Callers that do not name their
// job are of the same one.
func New(do Effects, job ids.Job) *Worker {
	return &Worker{
		do: do, job: job, backlog: backlog{most: maxBacklog},
		fns: map[[16]byte]*function{}, early: map[ids.Task]time.Time{},
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

// Counts are the numbers of entries in the tables of a worker.
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
		Running: w.calls.len(), Waiting: w.Waiting(), Early: len(w.early), Callers: len(w.callers), Functions: len(w.fns),
		Blocked: w.blocked, Backlog: w.backlog.bytes, Threads: len(w.main.waiting), Forgets: len(w.forgets),
		Lent: w.lent, Full: w.backlog.full, Draining: w.draining, Leaving: w.leaving,
	}
}

// Callers returns the callers of this worker. The list is the worker's own.
func (w *Worker) Callers() []*Caller { return w.callers }
