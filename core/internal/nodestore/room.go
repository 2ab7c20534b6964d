package nodestore

import (
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A full store lets the writer wait. The program's signals are looked after meanwhile:
// Ctrl-C, and the one that says that the task was cancelled.

// SignalsEvery is how long a signal or a cancellation may remain unhandled while a thread waits for room.
const SignalsEvery = 100 * time.Millisecond

// ErrTakenBack is a wait for room that was stopped.
var ErrTakenBack = errors.New("the wait for room in the object store was stopped")

// Writing says how a value is written.
type Writing struct {
	// Anew makes the value take the place of what an earlier run of the task has written under its id.
	Anew bool
	// Program is set when the calling thread is the program's own, which handles signals.
	Program bool
	// Stop, when set, ends a wait for room when it is closed: ErrTakenBack. The
	// signals of a program's own thread go first.
	Stop <-chan struct{}
}

// create asks for room and waits for it; the mutex is not held.
func (s *Store) create(id ids.Object, size int, how Writing) (at wire.ObjPlace, err error) {
	r := s.AskRoom(id, size, how.Anew)
	stop := how.Stop
	var signals func() bool
	if how.Program && s.signals != nil {
		signals, stop = s.signals, nil
	}
	if err := s.awaitRoom(r, stop, signals); err != nil {
		return at, err
	}
	if at, err = r.Place(); err != nil {
		if why := s.why(); why != nil {
			err = why
		}
	}
	return at, err
}

// awaitRoom waits for the answer to a request for room. The wait ends, and the request
// is taken back, when the handler of a signal has raised an exception (Interrupted;
// signals may be nil), or when stop is closed (ErrTakenBack).
func (s *Store) awaitRoom(r *localstore.Room, stop <-chan struct{}, signals func() bool) error {
	if stop == nil && signals == nil {
		<-r.Done()
		return nil
	}
	look := time.NewTimer(SignalsEvery)
	defer look.Stop()
	for {
		select {
		case <-r.Done():
			return nil
		case <-look.C: // where there is room the answer has come before this
			select {
			case <-stop:
				s.TakeBack(r)
				return ErrTakenBack
			default:
			}
			if signals != nil && signals() {
				s.TakeBack(r)
				return fault.New(fault.Interrupted, "a signal ended the wait for room in the object store")
			}
			look.Reset(SignalsEvery)
		}
	}
}
