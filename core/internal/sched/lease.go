package sched

import (
	"cmp"
	"slices"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// This file has what a lease says of itself, and how a lease ends.

// lowerHalf is the part of a lease's number that counts leases.
const lowerHalf LeaseID = 1<<32 - 1

// numberLease returns the number of the next lease. After 2^32 leases
// the lower half begins anew, without the numbers of leases that are still held.
func (m *Machine) numberLease() LeaseID {
	for {
		id := m.nextLease
		m.nextLease = id&^lowerHalf | (id+1)&lowerHalf
		if id&lowerHalf != 0 && m.leases[id] == nil {
			return id
		}
	}
}

// ending reports whether the lease was recalled, or its worker ends.
func (l *lease) ending() bool { return l.recalled || l.exiting }

// frees returns what the end of the lease frees.
func (l *lease) frees() resource.Set {
	s := l.worker.hold.Frees()
	if l.worker.blocked {
		delete(s, resource.CPU)
	}
	return s
}

// helps reports whether yield has some of a resource of which need is more than have. A
// resource of which have is below zero does not count unless it is needed.
func helps(yield, need, have resource.Set) bool {
	for name, n := range yield {
		if n > 0 && need[name] > max(have[name], 0) {
			return true
		}
	}
	return false
}

// uncount takes a lease out of the counts of its class, client and job.
func (m *Machine) uncount(l *lease) {
	d := l.demand
	d.leases--
	d.client.leases--
	d.client.job.leases--
	d.forget()
}

// closeLease forgets a lease. The worker keeps what the lease held until releaseHold.
func (m *Machine) closeLease(l *lease) {
	delete(m.leases, l.id)
	l.worker.lease = nil
	if !l.ending() {
		m.uncount(l)
	}
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
	if w.dropAt > 0 { // the worker has left the bundle in time
		w.dropAt = 0
		m.dropped = slices.DeleteFunc(m.dropped, func(o *worker) bool { return o == w })
	}
}

// unblock takes the CPU of a worker again whose task waited.
func (m *Machine) unblock(w *worker) {
	w.blocked = false
	m.ledger.UnblockCPU(w.hold)
	if w.cpuLess {
		m.cpuLess++
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
	slices.SortFunc(ls, func(a, b *lease) int { return cmp.Compare(a.id, b.id) })
	return ls
}
