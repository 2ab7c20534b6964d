package sched

import "slices"

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
	l := &lease{id: m.numberLease(), demand: d, worker: w, since: m.now}
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
