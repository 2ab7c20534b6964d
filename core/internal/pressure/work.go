package pressure

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Work is what one worker does at one moment: what the scheduler has given to it,
// and what the worker itself has answered.
type Work struct {
	Actor  ids.Actor // the actor that lives in the worker; zero: none
	Idle   bool      // the worker is in its pool
	Ending bool      // the worker does nothing more
	Client uint64    // the client that has leased the worker
	Name   string    // the function that the lease is for
	Since  time.Time // the beginning of the lease or of the idleness

	Answered bool         // the worker has said what it runs:
	Runs     wire.Running // this
}

// Same reports whether now is still the work that was seen before. With exact, the
// worker must run the same call. Without exact, another task of the same function and
// caller counts as the same: where tasks are short, no picture shows the task that
// runs when the worker is looked at again.
func (w Work) Same(now Work, exact bool) bool {
	none := ids.Actor{}
	if w.Actor != none || now.Actor != none {
		return w.Actor == now.Actor && w.Ending == now.Ending
	}
	switch {
	case w.Idle != now.Idle || w.Ending != now.Ending || w.Client != now.Client || w.Name != now.Name:
		return false
	case exact && !w.Since.Equal(now.Since):
		return false
	case !now.Answered: // a worker may be too busy to answer: then the lease decides
		return true
	case !w.Answered || w.Runs.Once != now.Runs.Once || w.Runs.Busy > 0 != (now.Runs.Busy > 0):
		return false
	}
	return w.Runs.Name == now.Runs.Name && (w.Runs.Call == now.Runs.Call || !exact)
}

// Ending is why a watch ends a worker.
type Ending struct {
	Code  fault.Code // what the worker's task fails with
	Text  string     // the text of that error
	Bytes uint64     // what the worker held of the node's memory, if that is the cause
}
