package sched

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// AddJob makes the job known and orders one worker of the environment ahead of
// the first want.
func (m *Machine) AddJob(id ids.Job, env string) {
	j := m.jobOf(id)
	m.prestart(m.poolOf(j, env), 1, false)
	m.reschedule()
}

// RemoveJob drops the wants of the job's clients and stops its idle workers. Leases end with
// their clients. Actors end when they are cancelled or their workers are gone: detached actors
// outlive their job, and may be placed after its end.
func (m *Machine) RemoveJob(id ids.Job) {
	j := m.jobs[id]
	if j == nil || j.ended {
		return
	}
	j.ended, m.ending = true, true
	for _, c := range m.clients {
		if c.job == j {
			for _, d := range c.classes {
				m.dropDemand(d)
			}
		}
	}
	for _, p := range m.pools {
		if p.job == j {
			p.ordered = 0
		}
	}
	m.reschedule()
}

// AddClient makes a process known that may want leases for a job.
func (m *Machine) AddClient(id ClientID, job ids.Job) {
	if m.clients[id] == nil {
		m.clients[id] = &client{id: id, job: m.jobOf(job), classes: make(map[ClassID]*demand)}
	}
}

// RemoveClient drops the wants of a process that is gone and ends its leases. The leased
// workers may still run the client's tasks, so they are stopped, and what they hold is free when
// they are gone.
func (m *Machine) RemoveClient(id ClientID) {
	c := m.clients[id]
	if c == nil {
		return
	}
	delete(m.clients, id)
	for _, d := range c.classes {
		m.dropDemand(d)
	}
	for _, l := range m.leasesOf(c) {
		w := l.worker
		m.closeLease(l)
		if w.state == workerLeased {
			w.end(m.now)
			m.emit(StopWorker{w.id})
		}
	}
	m.reschedule()
}

// DefineClass says what the tasks of a client's class need.
func (m *Machine) DefineClass(id ClientID, c Class) {
	cl := m.clients[id]
	if cl == nil || cl.classes[c.ID] != nil {
		return
	}
	cl.classes[c.ID] = &demand{client: cl, class: c, choices: choicesOf(c, nil), pool: m.poolOf(cl.job, c.Env), rank: m.rank(c.Strategy)}
}

// Want says how many leases of the class the client wants besides those that it holds.
func (m *Machine) Want(id ClientID, class ClassID, n int) {
	cl := m.clients[id]
	if cl == nil || cl.job.ended {
		return
	}
	d := cl.classes[class]
	if d == nil {
		return
	}
	d.want = max(n, 0)
	d.due = min(d.due, d.want)
	for len(d.reserved) > d.want {
		m.unreserve(d.reserved[len(d.reserved)-1])
	}
	m.unreserveNotDue(d)
	m.updateWaiting(d)
	if d.waits {
		m.failInfeasible(d)
	}
	m.reschedule()
}

// WantUpdate is a client's message about how many leases of a class the client wants.
type WantUpdate struct {
	N    int    // how many leases, besides those that the client holds
	Seen uint64 // 1 + the number of grants, offers and refusals of the class that the client knew of; further ones serve the oldest wants; 0: it does not say

	// For a class with After:
	Due  int           // how many of N, the oldest ones, have waited for After
	Next time.Duration // after how long the next one will have; 0: the client does not say

	Near []uint32 // nodes that hold large arguments of the oldest task, the best first; at most MaxNear are looked at

	Ticket uint64 // of a guest: the head's offer that it takes, 0 for none
	Recall bool   // of a guest with a ticket: leases are recalled for what does not fit
}

// UpdateWant is Want for a client whose message may have crossed grants on their way.
func (m *Machine) UpdateWant(id ClientID, class ClassID, w WantUpdate) {
	cl := m.clients[id]
	if cl == nil || cl.classes[class] == nil {
		return
	}
	d := cl.classes[class]
	n := max(w.N, 0)
	due := min(max(w.Due, 0), n)
	if w.Seen > 0 && d.granted > w.Seen-1 {
		crossed := int(min(d.granted-(w.Seen-1), uint64(n)))
		n -= crossed
		due = max(0, due-crossed)
	}
	d.due, d.dueAt = due, m.now+max(w.Next, 0)
	d.near = slices.Clone(w.Near[:min(len(w.Near), MaxNear)])
	if m.o.Cluster && cl.guest {
		m.wantOfGuest(d, n, w.Ticket, w.Recall)
		return
	}
	m.Want(id, class, n)
}

// Undelivered says that a grant does not reach its client, because the worker is gone. So the
// client has not seen the grant, and still wants a lease. WorkerGone tells of the worker.
func (m *Machine) Undelivered(g Grant) {
	if cl := m.clients[g.Client]; cl != nil && cl.classes[g.Class] != nil {
		d := cl.classes[g.Class]
		d.granted--
		d.want++
		if g.Due {
			d.due++
		}
		m.updateWaiting(d)
	}
}

// Return ends a lease. With exiting, the worker ends by itself, and what it holds is free when it
// is gone. With unusable, the worker must not be used again, perhaps because it has died; then
// Broken says how.
func (m *Machine) Return(id ClientID, lid LeaseID, exiting, unusable bool) {
	l := m.leases[lid]
	if l == nil || l.exiting || l.demand.client.id != id {
		return
	}
	w := l.worker
	if exiting || unusable {
		m.markExiting(l, exiting)
		if exiting { // the next workers start while this one ends
			m.prestart(w.pool, min(1+l.demand.outstanding(), 2), w.devices != "")
			m.noteUsedUp(w)
		} else {
			m.emit(StopWorker{w.id})
			m.prestart(w.pool, 1, w.devices != "")
			m.noteCrash(w)
		}
		m.reschedule()
		return
	}
	m.closeLease(l)
	m.releaseHold(w)
	m.addIdle(w)
	m.reschedule()
}

// markExiting marks a lease whose worker ends. announced means that the worker ends by itself.
func (m *Machine) markExiting(l *lease, announced bool) {
	if !l.recalled {
		m.uncount(l)
	}
	l.exiting, l.announced = true, announced
	l.worker.end(m.now)
}

// Leaving says that a worker's process is about to end. What the worker holds is free at
// WorkerGone.
func (m *Machine) Leaving(id WorkerID) {
	if w := m.workers[id]; w != nil && w.state != workerStarting {
		w.leave(m.now)
	}
}

// Block gives back the CPU of a worker whose task waits. Unblock takes the CPU again.
func (m *Machine) Block(id WorkerID) {
	w := m.workers[id]
	if w == nil || w.blocked || w.hold == nil {
		return
	}
	w.blocked = true
	m.ledger.BlockCPU(w.hold)
	if w.cpuLess {
		m.cpuLess--
	}
	m.reschedule()
}

// Unblock is the opposite of Block. It takes the CPU at once, even if no CPU is free.
func (m *Machine) Unblock(id WorkerID) {
	if w := m.workers[id]; w != nil && w.blocked {
		m.unblock(w)
		if len(m.waiting) != 0 { // a demand that waited for this CPU may take another choice
			m.reschedule()
		}
	}
}

// WorkerReady says that an ordered worker can take work.
func (m *Machine) WorkerReady(id WorkerID) {
	w := m.workers[id]
	if w == nil || w.state != workerStarting {
		return
	}
	m.started(w)
	w.pool.failures = 0
	m.addIdle(w)
	m.reschedule()
}

// WorkerFailed says that an ordered worker did not start, and why. After MaxStartFailures
// failures in a row everything that waits for the pool fails.
func (m *Machine) WorkerFailed(id WorkerID, why string) {
	w := m.workers[id]
	if w == nil || w.state != workerStarting {
		return
	}
	m.started(w)
	delete(m.workers, id)
	p := w.pool
	if p.failures++; p.failures >= MaxStartFailures {
		p.failures, p.ordered = 0, 0
		m.failPool(p, why)
	}
	m.reschedule()
}

// WorkerGone says that a worker's process is gone; what it held is free.
func (m *Machine) WorkerGone(id WorkerID) {
	w := m.workers[id]
	if w == nil {
		return
	}
	delete(m.workers, id)
	switch w.state {
	case workerStarting:
		m.started(w)
	case workerIdle:
		m.takeIdle(w)
	case workerLeased, workerActor:
		if !w.leaves {
			m.noteCrash(w)
		}
	}
	if l := w.lease; l != nil {
		if !l.announced {
			m.emit(Broken{l.demand.client.id, l.id, id})
		}
		m.closeLease(l)
	}
	m.releaseHold(w)
	m.reschedule()
}

// PlaceActor queues an actor for a worker. The actor needs c.Need to be placed, and keeps run
// while it lives; an alternative has its own two sets. A ticket is that of the head's order, which is settled
// when the actor has what it needs; 0: there is no such order.
func (m *Machine) PlaceActor(id ActorID, job ids.Job, c Class, run resource.Set, ticket uint64) {
	if m.actors[id] != nil {
		return
	}
	j := m.jobOf(job)
	choices := choicesOf(c, run)
	c.Need = choices[0].Need
	shape := c.Env + c.After.String() + c.Strategy.Labels
	if c.Strategy.Busy == strategy.Fails {
		shape += c.Strategy.Text()
	}
	for _, o := range choices {
		shape += o.Need.Key() + o.Run.Key()
	}
	d := j.actors[shape]
	if d == nil {
		j.trimShapes()
		d = &demand{client: &j.queue, class: c, choices: choices, pool: m.poolOf(j, c.Env), rank: m.rank(c.Strategy)}
		j.actors[shape] = d
	}
	m.actors[id] = d
	d.queue = append(d.queue, actorWant{id, c.Name, m.now, ticket})
	d.want++
	m.updateWaiting(d)
	if m.drains {
		m.refuseDrained(d.queue[len(d.queue)-1])
	} else if !m.o.WaitForFit || ticket != 0 {
		if why := m.whyInfeasible(d, c.Name); why != "" {
			m.emit(ActorFailed{id, fault.ActorUnschedulable, why, false})
		}
	}
	m.reschedule()
}

// CancelActor forgets an actor that waits for a worker. It reports whether it did wait.
func (m *Machine) CancelActor(id ActorID) bool {
	d := m.actors[id]
	if d == nil {
		return false
	}
	delete(m.actors, id)
	if i := slices.IndexFunc(d.queue, func(a actorWant) bool { return a.id == id }); i >= 0 {
		m.forgetWaiting(d, i)
	} else if i := slices.IndexFunc(d.reserved, func(r *reservation) bool { return r.actor.id == id }); i >= 0 {
		m.unreserve(d.reserved[i])
		d.want--
	}
	m.updateWaiting(d)
	m.reschedule()
	return true
}

// RenewActor gives an actor that waits for resources the ticket of a later order. It reports whether the actor does wait.
func (m *Machine) RenewActor(id ActorID, ticket uint64) bool {
	d := m.actors[id]
	if d == nil {
		return false
	}
	i := slices.IndexFunc(d.queue, func(a actorWant) bool { return a.id == id })
	if i >= 0 {
		d.queue[i].ticket = ticket
	}
	return i >= 0
}

// WithdrawActor forgets an actor that waits for resources. It reports whether it did.
func (m *Machine) WithdrawActor(id ActorID) bool {
	d := m.actors[id]
	return d != nil && slices.ContainsFunc(d.queue, func(a actorWant) bool { return a.id == id }) && m.CancelActor(id)
}

// Move lets a lease serve another class of its holder that needs the same resources. The
// lease counts as one of those that the other class wants.
func (m *Machine) Move(id ClientID, lid LeaseID, class ClassID) {
	l := m.leases[lid]
	if l == nil || l.exiting || l.demand.client.id != id {
		return
	}
	from, to := l.demand, l.demand.client.classes[class]
	if to == nil || to == from || !from.movable() || !to.movable() || from.pool != to.pool || from.class.Need.Key() != to.class.Need.Key() || from.class.Strategy != to.class.Strategy {
		return
	}
	if !l.recalled {
		from.leases--
		to.leases++
	}
	l.demand = to
	from.forget()
	m.Want(id, class, to.want-1) // a class that wants no lease still wants none then
}
