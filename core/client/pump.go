package client

import (
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// maxWant bounds how many leases a class asks for at a time.
const maxWant = 1000

// enqueue takes a task whose arguments are ready.
func (c *submitter) enqueue(t *task) {
	if d := t.badDep(); d != nil {
		c.failLike(t, d)
		return
	}
	if t.tooMuch() {
		c.promote(t)
		return
	}
	k := t.tmpl.class
	if k.bad != nil {
		c.infeasible(t, k.bad)
	}
	k.queue.push(t)
	if k.after > 0 {
		t.since = clockMs(time.Now())
	}
	c.pump(k)
}

// pump sends queued tasks of a class to leases that have room, and asks the daemon for leases for the others.
func (c *submitter) pump(k *class) {
	if k.queue.len() > 0 && (len(k.leases) > 0 || k.shape != nil && k.shape.idle > 0) {
		for k.queue.len() > 0 {
			var best *lease
			for _, l := range k.leases {
				if l.open() && (best == nil || l.before(best)) {
					best = l
				}
			}
			if best == nil {
				best = c.takeIdle(k)
			}
			if best == nil {
				best = k.deeper()
			}
			if best == nil {
				break
			}
			c.sendTask(best, k.queue.pop())
		}
	}
	c.adjustWant(k)
}

// adjustWant tells the daemon how many more leases the queue of a class could use, when that number
// has changed by much.
func (c *submitter) adjustWant(k *class) {
	k.note()
	n := k.queue.len()
	all := 0 // leases for the queue, those whose sockets are being opened too
	if n > 0 {
		all = min(maxWant, (n+k.share()-1)/k.share())
	}
	want := max(0, all-k.opening)
	w := wire.LeaseWant{ClassID: k.id, Want: want}
	if k.after > 0 {
		due, ms := c.countDue(k, all)
		w.Due, w.DueMs = max(0, due-k.opening), ms
	}
	// Of a class that waits for its first choice every change is told: an alternative serves no more tasks than are due.
	if want == k.want && w.Due == k.due || k.after == 0 && want > 0 && k.want > 0 && want < 2*k.want && 2*want > k.want {
		return
	}
	if want > 0 && k.want == 0 {
		k.since = time.Now()
		c.watchPending()
		if len(k.paces) > 1 {
			c.returnIdleOfOthers(k)
		}
	}
	k.want, k.due, w.Seen = want, w.Due, c.seen(k)
	c.fx.Push(wire.TLeaseWant, w)
}

// seen returns what tells the daemon after which of its grants a want was written, so that a grant
// which is on its way is not wanted twice. A successor has not counted the grants to its predecessor.
func (c *submitter) seen(k *class) uint64 {
	if c.successor {
		return 0
	}
	return k.granted + 1
}

// sendTask sends a task to the worker of a lease.
func (c *submitter) sendTask(l *lease, t *task) {
	t.on = l.conn
	l.conn.send(t)
	l.busy++
	l.used = true
	l.setIdle(false)
	l.class.since = time.Now()
}
