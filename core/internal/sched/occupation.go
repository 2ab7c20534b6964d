package sched

import "time"

// Occupation says what a worker is used for.
type Occupation struct {
	Idle   bool          // the worker is in its pool
	Ending bool          // the worker does nothing more
	Client ClientID      // the client that has leased the worker
	Name   string        // of the lease's class
	Since  time.Duration // of the lease
}

// Occupation returns what a worker is used for. ok is false for a worker that is unknown or
// is being started.
func (m *Machine) Occupation(id WorkerID) (o Occupation, ok bool) {
	w := m.workers[id]
	if w == nil {
		return o, false
	}
	switch w.state {
	case workerIdle:
		return Occupation{Idle: true, Since: w.idleSince}, true
	case workerActor:
		return o, true
	case workerLeased, workerEnding:
		o.Ending = w.state == workerEnding
		if l := w.lease; l != nil {
			o.Client, o.Name, o.Since = l.demand.client.id, l.demand.class.Name, l.since
		}
		return o, true
	}
	return o, false
}

// StopIdle stops a worker if it is idle.
func (m *Machine) StopIdle(id WorkerID) {
	if w := m.workers[id]; w != nil && w.state == workerIdle {
		m.stopIdle(w)
		m.reschedule()
	}
}
