package sched

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

func (m *Machine) poolOf(j *job, env string) *pool {
	for _, p := range m.pools {
		if p.job == j && p.env == env {
			return p
		}
	}
	p := &pool{job: j, env: env}
	m.pools = append(m.pools, p)
	return p
}

// pick returns the idle worker that serves a reservation of these devices, nil if there is
// none. Among several it takes the one that was used last.
//
// A library sees for as long as its process lives the devices that it found at its first
// look. So work with devices gets a process that has seen exactly these devices, or else one
// that has run nothing. Work without devices gets a process that has run such work, and a new
// process only if there is no other.
func (p *pool) pick(devices string) (found *worker) {
	for _, w := range slices.Backward(p.idle) {
		switch {
		case w.used && w.devices == devices:
			return w
		case !w.used && found == nil:
			found = w
		}
	}
	return found
}

// usable counts the idle workers, with devices only those that may serve any devices.
func (p *pool) usable(devices bool) int {
	if !devices {
		return len(p.idle)
	}
	n := 0
	for _, w := range p.idle {
		if !w.used {
			n++
		}
	}
	return n
}

// started takes w out of the count of those being started.
func (m *Machine) started(w *worker) {
	m.starting--
	w.pool.starting--
}

// addIdle puts a worker into its pool.
func (m *Machine) addIdle(w *worker) {
	p := w.pool
	p.ordered = 0
	w.state, w.idleSince = workerIdle, m.now
	p.idle = append(p.idle, w)
	p.job.idle++
}

// end says that the worker does nothing more.
func (w *worker) end(now time.Duration) {
	w.state = workerEnding
	w.leave(now)
}

func (w *worker) leave(now time.Duration) {
	if !w.leaves {
		w.leaves, w.endSince = true, now
	}
}

func (m *Machine) takeIdle(w *worker) {
	p := w.pool
	p.idle = slices.DeleteFunc(p.idle, func(o *worker) bool { return o == w })
	p.job.idle--
}

func (m *Machine) stopIdle(w *worker) {
	m.takeIdle(w)
	w.end(m.now)
	m.emit(StopWorker{w.id})
}

// trim stops the workers idle longest of jobs that keep too many for too long,
// and all of jobs that have ended.
func (m *Machine) trim() {
	for _, p := range m.pools {
		for p.job.idle > m.o.MaxIdle || p.job.ended && p.job.idle > 0 {
			oldest := m.idlest(p.job)
			if !p.job.ended && m.now-oldest.idleSince < SurplusFor {
				break
			}
			m.stopIdle(oldest)
		}
	}
}

// idlest returns the worker of a job that has been idle longest; there is one.
func (m *Machine) idlest(j *job) (oldest *worker) {
	for _, q := range m.pools {
		if q.job == j && len(q.idle) > 0 && (oldest == nil || q.idle[0].idleSince < oldest.idleSince) {
			oldest = q.idle[0]
		}
	}
	return oldest
}

// expireIdle stops the workers that nothing wanted for IdleTimeout.
func (m *Machine) expireIdle() {
	for _, p := range m.pools {
		for len(p.idle) > 0 && m.now-p.idle[0].idleSince >= IdleTimeout {
			m.stopIdle(p.idle[0])
		}
	}
}

// order starts workers for reservations that have none, pool by pool in turn.
func (m *Machine) order() {
	for n := len(m.pools); m.starting < m.o.MaxStarts; {
		found := false
		for range n {
			p := m.pools[m.nextPool%n]
			m.nextPool++
			if max(len(p.queue), p.ordered) <= p.starting {
				continue
			}
			found = true
			m.lastWorker++
			m.workers[m.lastWorker] = &worker{id: m.lastWorker, pool: p, state: workerStarting}
			p.starting++
			m.starting++
			m.emit(StartWorker{m.lastWorker, p.job.id, p.env})
			break
		}
		if !found {
			return
		}
	}
}

func (m *Machine) jobOf(id ids.Job) *job {
	j := m.jobs[id]
	if j == nil {
		j = &job{id: id, actors: make(map[string]*demand)}
		j.queue.job = j
		m.jobs[id] = j
	}
	return j
}
