package sched

import (
	"slices"
	"time"
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

// match gives idle workers to the reservations that wait for a worker. It reports whether
// that has freed any resources.
func (m *Machine) match() (freed bool) {
	for _, p := range m.pools {
		for i := 0; i < len(p.queue) && len(p.idle) > 0; {
			r := p.queue[i]
			w := p.pick(devicesKey(r.hold))
			if w == nil {
				i++
				continue
			}
			p.queue = slices.Delete(p.queue, i, i+1)
			m.takeIdle(w)
			m.assign(r, w)
			freed = freed || r.extra != nil
		}
	}
	return freed
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

// assign turns a reservation into a lease or an actor.
func (m *Machine) assign(r *reservation, w *worker) {
	d := r.demand
	d.reserved = slices.DeleteFunc(d.reserved, func(o *reservation) bool { return o == r })
	d.want--
	due := d.due > 0
	if due {
		d.due--
	}
	fresh := !w.used
	w.hold, w.used, w.devices = r.hold, true, devicesKey(r.hold)
	if d.isActor() {
		delete(m.actors, r.actor.id)
		w.state, w.actor = workerActor, r.actor.id
		if r.extra != nil {
			m.ledger.Release(r.extra)
		}
		m.emit(StartActor{r.actor.id, w.id, w.hold, r.choice})
		return
	}
	m.lastLease++
	l := &lease{id: m.lastLease, demand: d, worker: w, since: m.now}
	m.leases[l.id] = l
	d.leases++
	d.client.leases++
	d.client.job.leases++
	w.state, w.lease, w.cpuLess = workerLeased, l, r.cpuLess
	if fresh && w.devices != "" {
		m.prestart(w.pool, 2, true) // a worker that has seen a device is mostly used once, and the next take a while to start
	}
	d.granted++
	m.emit(Grant{d.client.id, d.class.ID, l.id, w.id, r.hold, r.choice, m.betterMayCome(d, r.choice), !m.possible(d.choices[0]), due})
}

// releaseHold frees what the worker holds.
func (m *Machine) releaseHold(w *worker) {
	if w.hold == nil {
		return
	}
	if w.blocked {
		m.unblock(w)
	}
	m.ledger.Release(w.hold)
	if w.cpuLess {
		m.cpuLess--
	}
	w.hold, w.cpuLess = nil, false
}

// closeLease forgets a lease. The worker keeps what the lease held until releaseHold.
func (m *Machine) closeLease(l *lease) {
	delete(m.leases, l.id)
	l.worker.lease = nil
	if !l.ending() {
		m.uncount(l)
	}
}

// WorkerOf returns the worker of a client's lease, 0 when it has no such lease.
func (m *Machine) WorkerOf(c ClientID, id LeaseID) WorkerID {
	if l := m.leases[id]; l != nil && l.demand.client.id == c {
		return l.worker.id
	}
	return 0
}

// LeasesOf returns the leases that the client holds, in order.
func (m *Machine) LeasesOf(id ClientID) []LeaseID {
	c := m.clients[id]
	if c == nil {
		return nil
	}
	var list []LeaseID
	for _, l := range m.leasesOf(c) {
		if !l.exiting {
			list = append(list, l.id)
		}
	}
	return list
}

// leasesOf returns the client's leases in order.
func (m *Machine) leasesOf(c *client) []*lease {
	var ls []*lease
	for _, l := range m.leases {
		if l.demand.client == c {
			ls = append(ls, l)
		}
	}
	slices.SortFunc(ls, func(a, b *lease) int { return int(a.id) - int(b.id) })
	return ls
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
