package leases

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Granted takes a lease that the own daemon grants. It returns the lease, whose worker's socket is to be
// opened now, and the descriptor of the page of begun tasks, which goes along; nil when the lease went back.
func (p *Pool[T, C]) Granted(g *wire.LeaseGrant) (l *Lease[T, C], page int) {
	k := p.Classes[g.ClassID]
	if k == nil { // it was granted before the daemon heard that nobody wants it
		p.host.Push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: g.LeaseID})
		return nil, -1
	}
	k.granted++
	k.Want, k.due = max(0, k.Want-1), max(0, k.due-1)
	if l = p.take(k, g, 0); l == nil {
		return nil, -1
	}
	l.slot, page = p.takeSlot(l.ID)
	return l, page
}

// GrantedAt takes a lease that another node's daemon grants. It returns nil when the lease went back. The
// page of begun tasks does not leave this node: the other node has its own.
func (p *Pool[T, C]) GrantedAt(node uint32, g *wire.LeaseGrant) *Lease[T, C] {
	k := p.Classes[g.ClassID]
	if k == nil || k.at(node) == nil {
		p.host.Push(wire.TLeaseReturn, wire.LeaseReturn{LeaseID: g.LeaseID})
		return nil
	}
	h := k.at(node)
	h.answers++
	h.due = max(0, h.due-1)
	k.lower(h, 1)
	l := p.take(k, g, node)
	if l != nil {
		l.way = float64(p.host.RoundTrip(node)) / float64(time.Microsecond)
	}
	return l
}

// take makes a lease of a grant, nil when the grant is for a choice that the class does not have.
func (p *Pool[T, C]) take(k *Class[T, C], g *wire.LeaseGrant, node uint32) *Lease[T, C] {
	k.Changed = time.Now()
	l := &Lease[T, C]{ID: g.LeaseID, Node: node, Class: k, Choice: g.Choice, better: g.Better, never: g.Never}
	p.Leases[l.ID] = l
	if l.Choice < 0 || l.Choice >= len(k.Paces) {
		p.Drop(l, wire.LeaseReturn{LeaseID: l.ID})
		return nil
	}
	l.opening = true
	k.opening++
	return l
}

// Slot returns the place of the lease's worker on the page of begun tasks.
func (l *Lease[T, C]) Slot() int { return l.slot }

// Opened notes that the socket is no longer being opened.
func (l *Lease[T, C]) Opened() {
	if l.opening {
		l.opening = false
		l.Class.opening--
	}
}

// Serve gives the lease to its class, because its worker takes tasks now.
func (l *Lease[T, C]) Serve() { l.Class.Leases = append(l.Class.Leases, l) }

// Sent counts a task that is sent to the lease. Look is the number of the look that came last:
// no clock is read on the way of a task.
func (l *Lease[T, C]) Sent(look uint32) {
	l.Busy++
	l.used = true
	l.setIdle(false)
	l.Class.Since = look
}

// Answered counts an answer. Micros is how long the task ran.
func (l *Lease[T, C]) Answered(micros float64) {
	l.Busy--
	l.Paused, l.Blocked = false, false
	l.Class.Paces[l.Choice].Measure(micros)
}

// CameBack counts a task that came back without an answer.
func (l *Lease[T, C]) CameBack() { l.Busy-- }

// Pause keeps further tasks from the lease until it answers.
func (l *Lease[T, C]) Pause() { l.Paused = true }

// Resume ends a Pause.
func (l *Lease[T, C]) Resume() { l.Paused = false }

// Block notes that the lease's task waits for an object, or waits no more.
func (l *Lease[T, C]) Block(blocked bool) { l.Paused, l.Blocked = blocked, blocked }

// TooDeep notes that the worker gave tasks back because they would have had to wait for too long there.
func (l *Lease[T, C]) TooDeep() {
	l.Paused = true // until it answers
	l.Class.Paces[l.Choice].TooDeep()
	l.Class.Changed = time.Now()
}

// LeaseIdle decides what becomes of a lease that has nothing to do.
func (p *Pool[T, C]) LeaseIdle(l *Lease[T, C]) {
	if l.Gone {
		return
	}
	if l.Recall || l.better || l.once() {
		p.ReturnLease(l)
		return
	}
	if p.serveOther(l) && l.Busy > 0 {
		return
	}
	if l.strays() {
		p.ReturnLease(l)
		return
	}
	l.setIdle(true)
	l.IdleAt = time.Now()
	p.lookAt(l.IdleAt.Add(l.patience()))
}

// LeaseRecalled notes that others wait for a lease. It does what was sent to it, gets no more, and goes back.
func (p *Pool[T, C]) LeaseRecalled(id uint64) {
	l := p.Leases[id]
	if l == nil {
		return
	}
	l.Recall = true
	if l.Busy == 0 && l.Channel != nil {
		p.ReturnLease(l)
		p.AdjustWant(l.Class)
	}
}

// LeaseWanted notes that others wait for the lease. It is given back soon after it has nothing to do.
func (p *Pool[T, C]) LeaseWanted(id uint64) {
	l := p.Leases[id]
	if l == nil {
		return
	}
	l.Wanted = true
	if l.idle {
		p.lookAt(l.IdleAt.Add(l.patience()))
	}
}
