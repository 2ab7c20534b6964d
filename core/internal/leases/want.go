package leases

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// MaxWant bounds how many leases a class asks for at a time.
const MaxWant = 1000

// Next returns the lease that gets the next task of the class's queue, nil when none has room or the queue is empty.
func (p *Pool[T, C]) Next(k *Class[T, C]) *Lease[T, C] {
	if k.Queue.Len() == 0 {
		return nil
	}
	var best *Lease[T, C]
	for _, l := range k.Leases {
		if p.open(l) && (best == nil || l.before(best)) {
			best = l
		}
	}
	if best == nil {
		best = p.takeIdle(k)
	}
	if best == nil {
		best = p.deeper(k)
	}
	return best
}

// AdjustWant tells the daemon how many more leases the queue of a class could use, when that number
// has changed by much.
func (p *Pool[T, C]) AdjustWant(k *Class[T, C]) {
	k.Note()
	n := k.Queue.Len()
	all := 0 // leases for the queue, those whose sockets are being opened too
	if n > 0 {
		all = min(MaxWant, (n+k.share()-1)/k.share())
	}
	if k.homes != nil {
		p.withdraw(k, all)
	}
	want := max(0, all-k.opening)
	w := wire.LeaseWant{ClassID: k.ID, Want: want}
	if k.after > 0 {
		due, ms := p.countDue(k, all)
		w.Due, w.DueMs = max(0, due-k.opening), ms
	}
	// Of a class that waits for its first choice every change is told: an alternative serves no more tasks than are due.
	if want == k.Want && w.Due == k.due || k.after == 0 && want > 0 && k.Want > 0 && want < 2*k.Want && 2*want > k.Want {
		return
	}
	if want > 0 && k.Want == 0 {
		k.Since = p.host.Waits()
		if len(k.Paces) > 1 {
			p.ReturnIdleOfOthers(k)
		}
		if k.near != 0 {
			k.asked = time.Now()
		}
	}
	if want > 0 && n > 0 {
		p.host.Large(k.Queue.First(), &w)
	}
	k.Want, k.due, w.Seen = want, w.Due, p.seen(k)
	p.host.Push(wire.TLeaseWant, w)
}

// seen returns what tells the daemon after which of its grants and offers a want was written, so that
// one which is on its way is not wanted twice. A successor has not counted the grants to its predecessor.
func (p *Pool[T, C]) seen(k *Class[T, C]) uint64 {
	if p.host.Successor() {
		return 0
	}
	return k.granted + 1
}
