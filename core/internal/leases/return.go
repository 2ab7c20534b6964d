package leases

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// How long a lease that has nothing to do is kept.
const (
	idleLease   = 100 * time.Millisecond
	wantedLease = time.Millisecond // when others wait for the lease
)

// patience returns how long a lease that has nothing to do waits for more.
func (l *Lease[T, C]) patience() time.Duration {
	if l.Wanted {
		return wantedLease
	}
	return idleLease
}

// lookAt has idle leases looked at by the given time.
func (p *Pool[T, C]) lookAt(at time.Time) {
	if p.IdleLook.IsZero() || at.Before(p.IdleLook) {
		p.IdleLook = at
		if p.IdleTimer == nil {
			p.IdleTimer = p.host.After(time.Until(at), p.ReturnIdle)
		} else {
			p.IdleTimer.Reset(time.Until(at))
		}
	}
}

// ReturnIdle gives back the leases that had nothing to do for long.
func (p *Pool[T, C]) ReturnIdle() {
	p.IdleLook = time.Time{}
	now := time.Now()
	for _, l := range p.Leases {
		if l.Busy > 0 || l.Channel == nil || l.Gone {
			continue
		}
		if end := l.IdleAt.Add(l.patience()); now.Before(end) {
			p.lookAt(end)
		} else {
			p.ReturnLease(l)
		}
	}
}

// ReturnLease gives a lease back whose worker may serve others.
func (p *Pool[T, C]) ReturnLease(l *Lease[T, C]) {
	p.host.Flush(l.Channel)
	p.Drop(l, wire.LeaseReturn{LeaseID: l.ID})
}

// Drop forgets a lease and tells the daemon.
func (p *Pool[T, C]) Drop(l *Lease[T, C], r wire.LeaseReturn) {
	if l.Gone {
		return
	}
	l.Gone = true
	l.Opened()
	l.setIdle(false)
	delete(p.Leases, l.ID)
	l.Class.remove(l)
	if l.Channel != nil {
		p.host.Close(l.Channel)
	}
	if len(l.Lost) == 0 {
		p.GiveSlotBack(l)
	}
	p.host.Push(wire.TLeaseReturn, r)
	p.DropClass(l.Class)
}

// ReturnIdleOfOthers gives leases without work back, except those of one class, before a want
// with alternatives is told. What this process keeps only for tasks that may come counts as
// free, and the first choice is to be taken when it is free.
func (p *Pool[T, C]) ReturnIdleOfOthers(k *Class[T, C]) {
	for _, l := range p.Leases {
		if l.idle && l.Class != k {
			p.ReturnLease(l)
		}
	}
}
