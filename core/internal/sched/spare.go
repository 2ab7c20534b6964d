package sched

import "time"

// Some work uses workers up: actors, tasks that end their worker, and whatever kills
// workers while they work. Such work tends to come one after the other, and a new process
// takes a while to start, most of all on a busy machine. A pool that has just lost workers
// therefore keeps one or two spare workers for a while, so that the replacement of the next
// one is there already. Spare workers are new processes that have run nothing. They are
// stopped when no work has come for them in time.
const (
	// SpareFor is how long a pool keeps spares after a worker died while it worked.
	SpareFor = 10 * time.Second
	// UsedUpFor is how long a pool keeps spares after a worker was used up as planned.
	// Two such events within this time let a third one be expected.
	UsedUpFor = 2 * time.Second
	// maxSpares is how many spares a pool keeps, if MaxIdle lets the job keep so many.
	maxSpares = 2
)

// prestart orders workers before they are wanted, until n workers are idle or starting. With
// fresh, only workers that have run nothing are counted.
func (m *Machine) prestart(p *pool, n int, fresh bool) {
	if have := p.usable(fresh); !p.job.ended && have+p.starting < n {
		p.ordered = n - have
	}
}

// noteCrash notes that a worker has died while it had work.
func (m *Machine) noteCrash(w *worker) {
	w.pool.keepSpares(w.pool.spares.n+1, m.now+SpareFor, w.devices != "")
}

// noteUsedUp notes that a worker ends with its task.
func (m *Machine) noteUsedUp(w *worker) {
	m.noteRepeated(w.pool, &w.pool.spares.ended, w.devices != "")
}

// noteActorReserved notes that an actor gets a reservation, with devices or without. An
// actor that comes alone and finds no worker is probably one of several that are made one
// after the other. For many actors at once spares would not help: as many workers are being
// started as may be.
func (m *Machine) noteActorReserved(p *pool, devices bool) {
	switch {
	case p.spares.n > 0:
		p.keepSpares(p.spares.n, m.now+UsedUpFor, devices)
	case len(p.queue)+p.usable(devices)+p.starting == 0:
		m.noteRepeated(p, &p.spares.late, devices)
	}
}

// noteRepeated notes an event at which a worker was used up. The second event within
// UsedUpFor lets the pool keep spares. *last is the time of the event before.
func (m *Machine) noteRepeated(p *pool, last *time.Duration, devices bool) {
	if *last > 0 && m.now-*last < UsedUpFor {
		p.keepSpares(maxSpares, m.now+UsedUpFor, devices)
	}
	*last = max(m.now, 1)
}

// keepSpares lets the pool keep n spares until a time, or longer if it does so already.
func (p *pool) keepSpares(n int, until time.Duration, fresh bool) {
	s := &p.spares
	s.fresh = s.n > 0 && s.fresh || fresh
	s.n, s.until = min(n, maxSpares), max(until, s.until)
}

// orderSpares orders spare workers for the pools that lose workers, once nothing waits for
// a worker: workers that are wanted now must not share the processors with spares that start.
func (m *Machine) orderSpares() {
	for _, p := range m.pools {
		if p.spares.n == 0 || len(p.queue) > 0 {
			continue
		}
		if m.now >= p.spares.until {
			p.spares.n = 0
			continue
		}
		others := p.job.idle - p.usable(p.spares.fresh)
		m.prestart(p, min(p.spares.n, m.o.MaxIdle-others), p.spares.fresh)
	}
}

// unneeded returns a worker that was kept for a want which did not come, and the time from
// which on it is not needed; nil if there is none. A job's last idle worker stays.
func (p *pool) unneeded() (*worker, time.Duration) {
	if p.job.idle < 2 {
		return nil, 0
	}
	for _, w := range p.idle {
		if !w.used {
			return w, max(w.idleSince+UsedUpFor, p.spares.until)
		}
	}
	return nil, 0
}

// stopUnneeded stops spare workers for which no work has come.
func (m *Machine) stopUnneeded() {
	for _, p := range m.pools {
		for {
			w, at := p.unneeded()
			if w == nil || m.now < at {
				break
			}
			m.stopIdle(w)
		}
	}
}
