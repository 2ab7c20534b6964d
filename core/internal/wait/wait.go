// Package wait is one wait: of a thread that sleeps until it is over, or of a
// function that is called then. A wait may count objects: it is over when
// enough of them are ready, or when no more can become ready.
//
// Three parts of a process meet in it. The reference table tells the wait what
// became ready, the poller puts the waiting thread to sleep or has it read the
// sockets meanwhile, and whoever began the wait asks how it ended.
//
// The session's lock guards a Wait, except that Sleep and Wake need no lock.
// The package starts no goroutine.
package wait

import "time"

// Wait is one wait. Make it with New or Calling.
type Wait struct {
	missing  int  // how many more objects have to be ready
	open     int  // how many objects can still become ready
	failFast bool // an object that has failed, or is infeasible, ends the wait

	over   bool
	gaveUp bool
	early  bool

	// Signals says that the waiting thread runs the program's signal handlers
	// between two waits, so a signal has to end the wait.
	Signals bool

	wake chan struct{} // holds one wake-up; nil when call is set
	call func()        // called at the end, in place of waking a thread
}

// New returns the wait of a thread. It counts nothing until For is called.
func New() *Wait { return &Wait{wake: make(chan struct{}, 1)} }

// Calling returns a wait that calls f when it is over. No thread sleeps in it.
func Calling(f func()) *Wait { return &Wait{call: f} }

// For makes the wait count objects. It is over when missing more of them are
// ready; open is how many can become ready. With failFast it is also over as
// soon as one has failed.
func (w *Wait) For(missing, open int, failFast bool) *Wait {
	w.missing, w.open, w.failFast = missing, open, failFast
	return w
}

// Missing returns how many more objects have to be ready, 0 when the wait
// counts none.
func (w *Wait) Missing() int { return w.missing }

// Ready counts an object that became ready and reports whether that ends the
// wait. Failed says that the object holds an exception or a fault.
func (w *Wait) Ready(failed bool) (ends bool) {
	w.open--
	w.missing--
	return w.missing <= 0 || w.open <= 0 || w.failFast && failed
}

// Infeasible counts an object whose task cannot be scheduled as things are, and
// reports whether that ends the wait.
func (w *Wait) Infeasible() (ends bool) {
	w.open--
	return w.failFast || w.open <= 0
}

// Feasible undoes Infeasible: the object can become ready after all.
func (w *Wait) Feasible() { w.open++ }

// Over reports whether the wait is over.
func (w *Wait) Over() bool { return w.over }

// GaveUp reports whether the wait is over because its context has ended.
func (w *Wait) GaveUp() bool { return w.gaveUp }

// Early reports whether the wait is over although nothing came for it: its
// thread has to look whether a signal came.
func (w *Wait) Early() bool { return w.early }

// End marks the wait as over and reports whether it was not over before. The
// caller, which is the poller, then wakes the thread.
func (w *Wait) End() (first bool) {
	if w.over {
		return false
	}
	w.over = true
	return true
}

// GiveUp says that the end which follows comes because the context has ended.
func (w *Wait) GiveUp() { w.gaveUp = true }

// EndEarly says that the end which follows comes although nothing came.
func (w *Wait) EndEarly() { w.early = true }

// Call calls the function of a wait that was made by Calling. It returns false
// for the wait of a thread, which has none.
func (w *Wait) Call() bool {
	if w.call == nil {
		return false
	}
	w.call()
	return true
}

// Wake wakes the thread that sleeps, or that is about to.
func (w *Wait) Wake() {
	select {
	case w.wake <- struct{}{}:
	default: // a wake-up is waiting for it already
	}
}

// Sleep blocks the thread until Wake, or until the limit has passed; a negative
// limit is none.
func (w *Wait) Sleep(limit time.Duration) {
	if limit < 0 {
		<-w.wake
		return
	}
	t := time.NewTimer(limit)
	select {
	case <-w.wake:
	case <-t.C:
	}
	t.Stop()
}
