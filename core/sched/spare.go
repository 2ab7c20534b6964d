package sched

import "time"

// Some wants use workers up: those of actors, of tasks that end their worker,
// and whatever it is that kills workers amid work. Such wants tend to come one
// after the other, and a fresh process takes a while to come up, most of all on
// a busy machine. A pool that has just lost some therefore keeps a spare one or
// two for a while: what replaces the next is there already. They are new
// processes that have run nothing. When nobody came for them in time they go.
const (
	// SpareFor is for how long after the latest death amid work.
	SpareFor = 10 * time.Second
	// UsedUpFor is for how long after a worker was used up as it is meant to be,
	// and how close two such events must be that a third is expected.
	UsedUpFor = 2 * time.Second
	// maxSpares is how many, as far as MaxIdle lets a job keep them.
	maxSpares = 2
)

// spares is what a pool keeps ahead of wants.
type spares struct {
	n     int           // how many
	fresh bool          // they are for work with devices: only workers that have run nothing count
	until time.Duration // when they are given up
	ended time.Duration // when a worker ended with its task, 0 for never
	late  time.Duration // when an actor, alone, had to wait for a worker to start, 0 for never
}

// spare orders workers ahead of wants until n are idle or starting. With fresh
// only those that have run nothing are counted.
func (m *Machine) spare(p *pool, n int, fresh bool) {
	if have := p.usable(fresh); !p.job.ended && have+p.starting < n {
		p.ordered = n - have
	}
}

// lost notes that a worker has died while it had work.
func (m *Machine) lost(w *worker) {
	w.pool.keep(w.pool.spares.n+1, m.now+SpareFor, w.devices != "")
}

// ended notes that a worker ends with its task.
func (m *Machine) ended(w *worker) { m.again(w.pool, &w.pool.spares.ended, w.devices != "") }

// late notes that an actor gets a reservation. Many at once take what starts
// workers to its limits as it is; one that comes alone and finds none is one of
// several that are made one after the other. devices tells whether it has some.
func (m *Machine) late(p *pool, devices bool) {
	switch {
	case p.spares.n > 0:
		p.keep(p.spares.n, m.now+UsedUpFor, devices)
	case len(p.queue)+p.usable(devices)+p.starting == 0:
		m.again(p, &p.spares.late, devices)
	}
}

// again notes an event at which a worker was used up: the second in a while calls for spares.
func (m *Machine) again(p *pool, last *time.Duration, devices bool) {
	if *last > 0 && m.now-*last < UsedUpFor {
		p.keep(maxSpares, m.now+UsedUpFor, devices)
	}
	*last = max(m.now, 1)
}

// keep has the pool keep spares, at least for as long as it does already.
func (p *pool) keep(n int, until time.Duration, fresh bool) {
	s := &p.spares
	s.fresh = s.n > 0 && s.fresh || fresh
	s.n, s.until = min(n, maxSpares), max(until, s.until)
}

// stock orders spare workers for the pools that lose some, once nothing waits
// for a worker: what is late already is not to share its processor with them.
func (m *Machine) stock() {
	for _, p := range m.pools {
		if p.spares.n == 0 || len(p.queue) > 0 {
			continue
		}
		if m.now >= p.spares.until {
			p.spares.n = 0
			continue
		}
		others := p.job.idle - p.usable(p.spares.fresh)
		m.spare(p, min(p.spares.n, m.o.MaxIdle-others), p.spares.fresh)
	}
}

// unneeded returns the worker that was kept for a want which did not come, and
// since when it is too many; nil for none. A job's last idle worker stays.
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

// giveUp stops spare workers that nobody came for.
func (m *Machine) giveUp() {
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
