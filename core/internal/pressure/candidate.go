package pressure

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// View is what the daemon tells of one worker that is up.
type View struct {
	ID   uint64
	Pid  int
	Work Work

	// Of the actor that lives in the worker, if one does:
	Class      string // its class
	Owner      string // the process that owns it
	MayRestart bool
}

// Workers is what the memory watch needs of the node's workers. The daemon implements
// it. The watch holds no lock when it calls.
type Workers interface {
	// List describes the workers that are up and are not being ended. It asks each
	// worker what it runs, and does not wait long for one that does not answer.
	List() []View
	// End ends a worker that Pick has chosen, if it still does the same work
	// (Work.Same). A worker that is idle is stopped without an error for anybody.
	// End returns a channel that is closed when the worker's process has ended.
	// ended is false when the worker does something else by now.
	End(w Worker, exact bool, why Ending) (gone <-chan struct{}, ended bool)
}

// candidate describes a worker to Pick. ok is false when the worker must not be ended,
// because it is ending already. The bytes that the worker holds are not filled in.
func (v View) candidate(now time.Time) (w Worker, ok bool) {
	if v.Work.Ending {
		return w, false
	}
	w = Worker{ID: v.ID, Pid: v.Pid, Work: v.Work, Started: v.Work.Since}
	runs := v.Work.Runs
	switch {
	case v.Work.Actor != ids.Actor{}:
		w.Kind, w.Name, w.Owner = LastActor, v.Class, v.Owner
		if v.MayRestart {
			w.Kind = Restarts
		}
	case v.Work.Idle || v.Work.Answered && runs.Busy == 0:
		w.Kind = Idle
	default:
		w.Kind, w.Name, w.Owner = Task, v.Work.Name, fmt.Sprint(v.Work.Client)
		if !v.Work.Answered { // the lease has to do
			break
		}
		if runs.Once {
			w.Kind = Once
		}
		w.Name = cmp.Or(strings.ToValidUTF8(runs.Name, "?"), w.Name)
		w.Started = now.Add(-time.Duration(runs.AgeUs) * time.Microsecond)
	}
	return w, true
}
