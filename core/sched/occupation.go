package sched

import "time"

// Occupation is what a worker is there for.
type Occupation struct {
	Idle   bool          // it is in its pool
	Ending bool          // it does nothing more
	Client ClientID      // that has it leased
	Name   string        // of the lease's class
	Since  time.Duration // of the lease
}

// Occupation tells it of a worker that is not being started.
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

// Retire stops a worker if it is idle.
func (m *Machine) Retire(id WorkerID) {
	if w := m.workers[id]; w != nil && w.state == workerIdle {
		m.stopIdle(w)
		m.settle()
	}
}
